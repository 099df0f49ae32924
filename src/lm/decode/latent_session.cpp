#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/failpoint.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/decode/latent_session.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "group_failure.hpp"
#include "head_entropy.hpp"
#include "lm/forward/layer_pass.hpp"

namespace mgpu::lm {

LatentSession::LatentSession(const LanguageModel& model, const Realignment& realignment,
                             DecodeConfig config)
    : model_(&model), realignment_(&realignment), config_(std::move(config)) {}

void LatentSession::run(const PagedCache::Sizes& sizes,
                        const std::function<void(DecodeSession&)>& work) {
  const at::NoGradGuard no_grad;
  is_together_ = false;
  const std::exception_ptr failure = cluster::failure_of([&] {
    together([&] {
      run_on_all_or_fail(model_->peers(), [&] {
        if (pool_ && pool_->cache().free_pages() >= sizes.pages) return;
        pool_.reset();  // free the old pool first
        if (failpoint("generate.cache").error != 0) throw std::bad_alloc();
        pool_.emplace(*model_, sizes);
      });
    });
    session_.emplace(*model_, *pool_, config_);
    work(*session_);
  });
  session_.reset();
  if (!failure) return;
  pool_.reset();
  if (model_->peers() == nullptr || is_together_) std::rethrow_exception(failure);
  throw cluster::DivergedFailure(report_of(failure));
}

/// Runs a step in which all ranks of the model throw if one of them fails. While `step` runs, and
/// after it has thrown, is_together_ is true.
/// Ranks: collective over the ranks of the model
void LatentSession::together(const std::function<void()>& step) {
  is_together_ = true;
  step();
  is_together_ = false;
}

void LatentSession::read_input() {
  while (session().has_input())
    session().pass();
}

at::Tensor LatentSession::think(std::span<const std::int64_t> sequences, std::int64_t steps,
                                const ChangeStates& change) {
  const auto count = std::ssize(sequences);
  const at::Tensor all = at::empty({count, steps, model_->config().hidden_size}, at::kFloat);
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
  const at::Tensor mine = states.to(options_of(model_->weights()).device());
  return tensor::read_back(head_entropies(*model_, mine)).clone();
}

std::optional<FinishReason> LatentSession::end_of(const Completion& completion, std::int64_t length,
                                                  std::int64_t max_new_tokens) const {
  const std::vector<std::int64_t>& stops = config_.stop_ids;
  if (std::ranges::find(stops, completion.ids.back()) != stops.end()) return FinishReason::stop_id;
  if (std::ssize(completion.ids) == max_new_tokens) return FinishReason::length;
  const LmConfig& config = model_->config();
  if (config.rope.kind == RopeKind::none && length > config.max_positions)
    return FinishReason::context;
  return std::nullopt;
}

void LatentSession::complete(std::vector<std::int64_t> sequences, std::int64_t max_new_tokens,
                             const SeeCompletion& see) {
  std::vector<std::size_t> indices(sequences.size());
  for (std::size_t i = 0; i < indices.size(); ++i)
    indices[i] = i;
  std::vector<Completion> completions(sequences.size());
  while (!sequences.empty()) {
    std::vector<DrawnToken> tokens;
    together([&] { tokens = session().step(sequences); });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      Completion& completion = completions[indices[i]];
      completion.ids.push_back(tokens[i].id);
      completion.log_probs.push_back(tokens[i].log_prob);
      const auto reason = end_of(completion, session().length(sequences[i]), max_new_tokens);
      if (!reason) {
        sequences[kept] = sequences[i];
        indices[kept++] = indices[i];
        continue;
      }
      completion.reason = *reason;
      session().drop(sequences[i]);
      see(indices[i], std::move(completion));
    }
    sequences.resize(kept);
    indices.resize(kept);
  }
}

}  // namespace mgpu::lm
