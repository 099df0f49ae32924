#include <numeric>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/algorithms/ad_batch.hpp>
#include <mgpu/algorithms/ad_objective.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/model/device_stream.hpp>
#include <mgpu/model/tensor_view.hpp>

namespace mgpu::algorithms {
namespace {

using kernels::CrossEntropySums;

/// Memory for `count` sums on the tensor's device.
at::Tensor room_for_sums(std::int64_t count, const at::Tensor& like) {
  return at::empty({count, static_cast<std::int64_t>(sizeof(CrossEntropySums))},
                   like.options().dtype(at::kByte));
}

CrossEntropySums* sums_at(const at::Tensor& bytes) {
  return reinterpret_cast<CrossEntropySums*>(bytes.data_ptr<std::uint8_t>());
}

struct Loss {
  train::PassSums sums;
  at::Tensor gradient;  // of the scaled loss, shape of the logits
};

/// Shapes: logits [N, A] float32 contiguous; targets [N] int64.
Loss loss_of(const at::Tensor& logits, const at::Tensor& targets, double smoothing,
             double grad_scale) {
  const auto n = static_cast<std::size_t>(logits.size(0));
  const auto blocks = (n + kernels::kCrossEntropyBlock - 1) / kernels::kCrossEntropyBlock;
  const at::Tensor scratch = room_for_sums(static_cast<std::int64_t>(blocks), logits);
  const at::Tensor out = room_for_sums(1, logits);
  const at::Tensor gradient = at::empty_like(logits);
  const kernels::CrossEntropyArgs args{logits.const_data_ptr<float>(),
                                       targets.const_data_ptr<std::int64_t>(),
                                       gradient.data_ptr<float>(),
                                       sums_at(scratch),
                                       sums_at(out),
                                       n,
                                       static_cast<std::size_t>(logits.size(1)),
                                       static_cast<float>(smoothing),
                                       static_cast<float>(grad_scale)};
  if (logits.is_cuda()) {
    kernels::cuda::cross_entropy(args, model::current_stream(logits));
  } else {
    kernels::cpu::cross_entropy(args);
  }
  const at::Tensor host = out.cpu();
  const CrossEntropySums& sums = *sums_at(host);
  return {{sums.loss, sums.count, sums.correct}, gradient};
}

at::Tensor flat_targets(const at::Tensor& targets) { return targets.reshape({-1}).contiguous(); }

}  // namespace

AdObjective::AdObjective(model::AdTransformer& model, const data::TrainingWindows& windows,
                         AdObjectiveOptions options, PhaseClock& clock)
    : model_(&model), windows_(&windows), options_(options), clock_(&clock) {}

std::int64_t AdObjective::predictions_per_item() const {
  return windows_->rules().kind == data::TokenKind::step ? windows_->rules().tokens : 1;
}

train::PassSums AdObjective::add_gradients(std::uint64_t first, std::int64_t count,
                                           double grad_scale) {
  const Device device = model::device_behind(model_->parameters().weights());
  std::vector<std::uint64_t> ordinals(static_cast<std::size_t>(count));
  std::iota(ordinals.begin(), ordinals.end(), first);
  const model::DropoutSamples dropout{
      options_.seed, at::arange(static_cast<std::int64_t>(first),
                                static_cast<std::int64_t>(first) + count, at::kLong)
                         .to(model::torch_device(device))};
  const std::int64_t tokens = windows_->rules().tokens;
  at::Tensor logits;   // [N, A]
  at::Tensor targets;  // [N]
  if (windows_->rules().kind == data::TokenKind::step) {
    StepBuffers buffers(count, tokens);
    const auto filling = clock_->enter("waiting for data");
    windows_->fill(ordinals, buffers.batch());
    const auto forward = clock_->enter("forward");
    logits = model_->forward(buffers.to_model(device, tokens), &dropout).flatten(0, 1);
    targets = flat_targets(buffers.targets(device));
  } else {
    TransitionBuffers buffers(count, tokens,
                              static_cast<std::int64_t>(windows_->writer().num_features()));
    const auto filling = clock_->enter("waiting for data");
    windows_->fill(ordinals, buffers.batch());
    const auto forward = clock_->enter("forward");
    logits = model_->forward(buffers.to_model(device), &dropout);
    targets = flat_targets(buffers.targets(device));
  }
  const auto backward = clock_->enter("backward");
  const Loss loss =
      loss_of(logits.detach().contiguous(), targets, options_.label_smoothing, grad_scale);
  logits.backward(loss.gradient);
  return loss.sums;
}

}  // namespace mgpu::algorithms
