#include <numeric>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/ad/action_loss.hpp>
#include <mgpu/ad/ad_batch.hpp>
#include <mgpu/ad/ad_objective.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::ad {

AdObjective::AdObjective(AdTransformer& model, const TrainingWindows& windows,
                         AdObjectiveOptions options, PhaseClock& clock)
    : model_(&model), windows_(&windows), options_(options), clock_(&clock) {}

std::int64_t AdObjective::predictions(std::uint64_t /*first*/, std::int64_t count) const {
  return windows_->rules().kind == TokenKind::step ? count * windows_->rules().tokens : count;
}

template <class Buffers>
void AdObjective::fill(const std::vector<std::uint64_t>& ordinals, Buffers& buffers) const {
  const auto filling = clock_->enter("waiting for data");
  windows_->fill(ordinals, buffers.batch());
}

train::PassSums AdObjective::add_gradients(std::uint64_t first, std::int64_t count,
                                           double grad_scale) {
  const Device device = tensor::mgpu_device(model_->parameters().weights());
  std::vector<std::uint64_t> ordinals(static_cast<std::size_t>(count));
  std::iota(ordinals.begin(), ordinals.end(), first);
  const DropoutSamples dropout{options_.seed,
                               at::arange(static_cast<std::int64_t>(first),
                                          static_cast<std::int64_t>(first) + count, at::kLong)
                                   .to(tensor::torch_device(device))};
  const std::int64_t tokens = windows_->rules().tokens;
  at::Tensor logits;   // TokenKind::step: [count, tokens, actions]; transition: [count, actions]
  at::Tensor targets;  // TokenKind::step: [count, tokens]; transition: [count]
  if (windows_->rules().kind == TokenKind::step) {
    StepBuffers buffers(count, tokens);
    fill(ordinals, buffers);
    const auto forward = clock_->enter("forward");
    logits = model_->forward(buffers.to_model(device, tokens), &dropout);
    targets = buffers.targets(device);
  } else {
    TransitionBuffers buffers(count, tokens,
                              static_cast<std::int64_t>(windows_->writer().num_features()));
    fill(ordinals, buffers);
    const auto forward = clock_->enter("forward");
    logits = model_->forward(buffers.to_model(device), &dropout);
    targets = buffers.targets(device);
  }
  const auto backward = clock_->enter("backward");
  const ActionLoss loss = action_loss(logits, targets, grad_scale, options_.label_smoothing);
  logits.backward(loss.grad);
  const kernels::CrossEntropySums sums = loss.sums();
  return {sums.loss, sums.count, sums.correct};
}

}  // namespace mgpu::ad
