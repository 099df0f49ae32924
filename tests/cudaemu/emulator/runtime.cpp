#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

#include "device.hpp"
#include "stream.hpp"

using cudaemu::device;

namespace {

enum class Kind { unknown, pinned, device };

struct Allocation {
  std::size_t bytes;
  Kind kind;
};

struct Allocations {
  std::mutex mutex;
  std::map<const std::byte*, Allocation> all;  // by first byte
};

Allocations& allocations() {
  static auto* the_allocations = new Allocations;
  return *the_allocations;
}

Kind kind_of(const void* data) {
  const auto* byte = static_cast<const std::byte*>(data);
  const std::lock_guard lock(allocations().mutex);
  auto after = allocations().all.upper_bound(byte);
  if (after == allocations().all.begin()) return Kind::unknown;
  --after;
  return byte < after->first + after->second.bytes ? after->second.kind : Kind::unknown;
}

cudaError_t allocate(void** data, std::size_t bytes, Kind kind) {
  constexpr std::size_t kAlignment = 256;
  *data = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (posix_memalign(data, kAlignment, bytes) != 0) return cudaErrorMemoryAllocation;
  // cudaMalloc() does not clear memory. With these bytes, code that expects zeros fails here.
  std::memset(*data, 0xFF, bytes);
  const std::lock_guard lock(allocations().mutex);
  allocations().all[static_cast<std::byte*>(*data)] = {bytes, kind};
  return cudaSuccess;
}

void forget(const void* data) {
  const std::lock_guard lock(allocations().mutex);
  allocations().all.erase(static_cast<const std::byte*>(data));
}

void copy_in(cudaStream_t stream, void* to, const void* from, std::size_t bytes) {
  cudaemu::queue_in(stream, [=] {
    if (bytes > 0) std::memcpy(to, from, bytes);
  });
}

}  // namespace

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
    case cudaErrorStubLibrary:
      return "CUDA driver is a stub library";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorNotReady:
      return "device not ready";
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

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  return allocate(data, bytes, Kind::device);
}

cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  return allocate(data, bytes, Kind::pinned);
}

cudaError_t cudaFree(void* data) {
  if (data == nullptr) return cudaSuccess;
  cudaemu::wait_for_all();
  forget(data);
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) {
  return cudaFree(data);
}

cudaError_t cudaDeviceSynchronize() {
  cudaemu::wait_for_all();
  return device().take_error();
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  device().wait();
  if (bytes > 0) std::memcpy(to, from, bytes);
  return device().take_error();
}

// In streams that the program has created, pageable host memory behaves as in CUDA: when the call
// returns, a pageable source may be reused, and a pageable destination is filled. If one end of the
// copy is on the device, the other end is pageable unless the emulator allocated it.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  const Kind into = kind_of(to);
  const Kind out_of = kind_of(from);
  if (stream != nullptr && into == Kind::device && out_of == Kind::unknown) {
    const auto* begin = static_cast<const std::byte*>(from);
    const auto staged = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
    cudaemu::queue_in(stream, [=] { std::memcpy(to, staged->data(), bytes); });
    return cudaSuccess;
  }
  copy_in(stream, to, from, bytes);
  const bool waits = stream != nullptr && out_of == Kind::device && into == Kind::unknown;
  return waits ? cudaStreamSynchronize(stream) : cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  cudaemu::queue_in(stream, [=] {
    if (bytes > 0) std::memset(to, value, bytes);
  });
  return cudaSuccess;
}
