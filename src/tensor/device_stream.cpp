#include <mgpu/tensor/device_stream.hpp>

#if MGPU_CUDA
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#else
#include <mgpu/base/error.hpp>
#endif

namespace mgpu::tensor {

bool runs_on_gpu(const at::Tensor& tensor) {
  return !tensor.is_cpu();
}

CUstream_st* current_stream([[maybe_unused]] const at::Tensor& tensor) {
#if MGPU_CUDA
  const c10::DeviceIndex device = tensor.get_device();
  c10::cuda::set_device(device);  // in new threads, device 0 is current
  return c10::cuda::getCurrentCUDAStream(device).stream();
#else
  throw NotBuiltError("CUDA");
#endif
}

}  // namespace mgpu::tensor
