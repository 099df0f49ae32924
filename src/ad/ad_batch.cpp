#include <vector>

#include <ATen/ATen.h>

#include <mgpu/ad/ad_batch.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::ad {
namespace {

enum Field : std::int64_t { x, y, action, reward, landing_x, landing_y, target, num_fields };

at::Tensor int64_on(const at::Tensor& numbers, Device device) {
  return numbers.to(at::kLong).to(tensor::torch_device(device));
}

}  // namespace

StepBuffers::StepBuffers(std::int64_t rows, std::int64_t tokens)
    : fields_(at::zeros({num_fields, rows, tokens}, at::kInt)) {}

StepBatch StepBuffers::batch() {
  const std::int64_t size = fields_.size(1) * fields_.size(2);
  std::int32_t* first = fields_.data_ptr<std::int32_t>();
  return {first + x * size,      first + y * size,         first + action * size,
          first + reward * size, first + landing_x * size, first + landing_y * size,
          first + target * size};
}

StepTokens StepBuffers::to_model(Device device, std::int64_t tokens) const {
  const at::Tensor moved = int64_on(fields_.narrow(2, 0, tokens), device);
  return {moved[x], moved[y], moved[action], moved[reward], moved[landing_x], moved[landing_y]};
}

at::Tensor StepBuffers::targets(Device device) const {
  return int64_on(fields_[target], device);
}

TransitionBuffers::TransitionBuffers(std::int64_t rows, std::int64_t tokens, std::int64_t features)
    : features_(at::zeros({rows, tokens - 1, features}, at::kFloat)),
      length_(at::zeros({rows}, at::kInt)),
      query_(at::zeros({rows}, at::kInt)),
      target_(at::zeros({rows}, at::kInt)) {}

TransitionBatch TransitionBuffers::batch() {
  return {features_.data_ptr<float>(), length_.data_ptr<std::int32_t>(),
          query_.data_ptr<std::int32_t>(), target_.data_ptr<std::int32_t>()};
}

TransitionTokens TransitionBuffers::to_model(Device device) const {
  const std::int32_t* lengths = length_.const_data_ptr<std::int32_t>();
  return {features_.to(tensor::torch_device(device)), int64_on(query_, device),
          std::vector<std::int64_t>(lengths, lengths + length_.size(0))};
}

at::Tensor TransitionBuffers::targets(Device device) const {
  return int64_on(target_, device);
}

}  // namespace mgpu::ad
