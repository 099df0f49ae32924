#include <mgpu/base/error.hpp>
#include <mgpu/tensor/tensor_view.hpp>

#include "cuda_half.hpp"

namespace mgpu::tensor {

at::Device torch_device(Device device) {
  if (device.kind == DeviceKind::cpu) return {at::kCPU};
  load_cuda_half();
  return {at::kCUDA, static_cast<at::DeviceIndex>(device.index)};
}

Device mgpu_device(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return {};
  if (!tensor.is_cuda()) throw Error("a tensor is neither on the CPU nor on a CUDA device");
  return {DeviceKind::cuda, tensor.get_device()};
}

}  // namespace mgpu::tensor
