#include <cstring>

#include <ATen/ATen.h>

#include <mgpu/ad/action_loss.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>

namespace mgpu::ad {
namespace {

using kernels::CrossEntropySums;

std::size_t blocks_of(std::size_t predictions) {
  return (predictions + kernels::kCrossEntropyBlock - 1) / kernels::kCrossEntropyBlock;
}

}  // namespace

CrossEntropySums ActionLoss::sums() const {
  const at::Tensor host = tensor::read_back(raw.narrow(0, 0, sizeof(CrossEntropySums)));
  CrossEntropySums sums;
  std::memcpy(&sums, host.const_data_ptr(), sizeof sums);
  return sums;
}

ActionLoss action_loss(const at::Tensor& logits, const at::Tensor& targets, double grad_scale,
                       double label_smoothing) {
  const at::Tensor values = logits.detach().contiguous();  // [.., A]
  const at::Tensor aims = targets.contiguous();            // [..]
  auto shape = values.sizes().vec();
  if (!shape.empty()) shape.pop_back();
  if (values.dim() == 0 || aims.sizes() != shape)
    throw ShapeError("action_loss: targets do not fit the logits");
  const auto predictions = static_cast<std::size_t>(aims.numel());
  ActionLoss loss;
  loss.grad = at::empty_like(values);
  loss.raw = at::empty(
      {static_cast<std::int64_t>((1 + blocks_of(predictions)) * sizeof(CrossEntropySums))},
      values.options().dtype(at::kByte));
  auto* sums = static_cast<CrossEntropySums*>(loss.raw.mutable_data_ptr());
  kernels::CrossEntropyArgs args{};
  args.logits = values.const_data_ptr<float>();
  args.targets = aims.const_data_ptr<std::int64_t>();
  args.grad = loss.grad.mutable_data_ptr<float>();
  args.out = sums;
  args.block_sums = sums + 1;
  args.predictions = predictions;
  args.classes = static_cast<std::size_t>(values.size(-1));
  args.label_smoothing = static_cast<float>(label_smoothing);
  args.grad_scale = static_cast<float>(grad_scale);
  if (tensor::runs_on_gpu(values))
    kernels::cuda::cross_entropy(args, tensor::current_stream(values));
  else
    kernels::cpu::cross_entropy(args);
  return loss;
}

}  // namespace mgpu::ad
