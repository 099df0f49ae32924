// Replaces the program's functions. Tensors of an emulated GPU are tensors of the CPU. They count
// as tensors of the GPU once the run has chosen one.
#include <atomic>

#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::tensor {
namespace {

constexpr int kNone = -1;
std::atomic<int> chosen_gpu = kNone;

}  // namespace

at::Device torch_device(Device device) {
  if (device.kind == DeviceKind::cuda) chosen_gpu = device.index;
  return {at::kCPU};
}

Device mgpu_device(const at::Tensor&) {
  const int gpu = chosen_gpu;
  return gpu == kNone ? Device{} : Device{DeviceKind::cuda, gpu};
}

}  // namespace mgpu::tensor
