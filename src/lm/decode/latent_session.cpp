#include <utility>

#include <ATen/ATen.h>

#include <mgpu/lm/decode/latent_session.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "head_entropy.hpp"
#include "lm/forward/layer_pass.hpp"

namespace mgpu::lm {

LatentSession::LatentSession(const LanguageModel& model, const Realignment& realignment,
                             DecodeConfig config)
    : PathSession(model, std::move(config)), realignment_(&realignment) {}

at::Tensor LatentSession::think(std::span<const std::int64_t> sequences, std::int64_t steps,
                                const ChangeStates& change) {
  const auto count = std::ssize(sequences);
  const at::Tensor all = at::empty({count, steps, model().config().hidden_size}, at::kFloat);
  for (std::int64_t step = 0; step < steps; ++step) {
    at::Tensor states;  // [S, D]
    together([&] { states = session().hidden(sequences); });
    const at::Tensor host = tensor::read_back(states).clone();
    if (change) change(step, host);
    all.select(1, step).copy_(host);
    const at::Tensor inputs = realignment_->embeddings(host.to(states.device()));
    for (std::int64_t s = 0; s < count; ++s)
      session().prefill(sequences[static_cast<std::size_t>(s)], inputs.narrow(0, s, 1));
    read_input();
  }
  return all;
}

at::Tensor LatentSession::entropies(const at::Tensor& states) {
  const at::Tensor mine = states.to(options_of(model().weights()).device());
  return tensor::read_back(head_entropies(model(), mine)).clone();
}

}  // namespace mgpu::lm
