#include <cstdlib>
#include <cstring>

#include <cuda_runtime_api.h>

#include "device.hpp"

using cudaemu::device;

const char* cudaGetErrorString(cudaError_t code) {
  switch (code) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure (stderr says more)";
  }
  return "unknown error";
}

cudaError_t cudaGetLastError() {
  return device().take_error();
}

cudaError_t cudaPeekAtLastError() {
  return device().last_error();
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  *data = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (posix_memalign(data, kAlignment, bytes) != 0) return cudaErrorMemoryAllocation;
  std::memset(*data, 0xFF, bytes);  // memory is not zeroed
  return cudaSuccess;
}

cudaError_t cudaFree(void* data) {
  device().wait();
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  device().wait();
  return device().take_error();
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaDeviceSynchronize();
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  device().wait();
  if (bytes > 0) std::memcpy(to, from, bytes);
  return device().take_error();
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  device().queue([=] {
    if (bytes > 0) std::memcpy(to, from, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  device().queue([=] {
    if (bytes > 0) std::memset(to, value, bytes);
  });
  return cudaSuccess;
}
