#include "cuda_calls.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include <cuda_runtime_api.h>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/device_choice.hpp>

namespace mgpu::cluster {
namespace {

void check(cudaError_t code, Where where = Where::here()) {
  if (code == cudaSuccess) return;
  throw LibraryError("CUDA", static_cast<int>(code), cudaGetErrorString(code), where);
}

/// Formats the UUID of a GPU as nvidia-smi -L does.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex.data();
  }
  return text;
}

/// Returns whether `code` means that no GPU is available. Any other error means that CUDA does not
/// work.
bool is_absence(cudaError_t code) {
  return code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver ||
         code == cudaErrorStubLibrary;
}

/// Returns why no GPU is available. Looks for the driver, because CUDA reports a missing driver as
/// "insufficient".
std::string why_absent(cudaError_t code) {
  std::error_code ignored;
  const bool has_driver = std::filesystem::exists("/proc/driver/nvidia/version", ignored);
  return has_driver ? cudaGetErrorString(code) : "no NVIDIA driver is loaded";
}

}  // namespace

VisibleGpus visible_gpus() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  cudaGetLastError();  // clears the error that the runtime keeps
  if (is_absence(code)) return {{}, why_absent(code)};
  if (code != cudaSuccess) {
    throw Failure({"E206",
                   ExitCode::unavailable,
                   "CUDA does not work on this node",
                   {"  cudaGetDeviceCount: " + std::string(cudaGetErrorString(code))},
                   "nvidia-smi shows the state of driver and GPUs; devices.backend=mpi computes "
                   "on the CPU"});
  }
  VisibleGpus visible;
  if (count == 0) visible.why_none = "CUDA sees no device";
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index));
    visible.gpus.push_back(
        {properties.name, uuid_text(properties.uuid), properties.totalGlobalMem});
  }
  return visible;
}

namespace cuda {

void set_device(int index) {
  check(cudaSetDevice(index));
}

CUstream_st* make_stream() {
  int lowest = 0;
  int highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  CUstream_st* stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest));
  return stream;
}

void stream_wait(CUstream_st* stream, CUevent_st* event) {
  check(cudaStreamWaitEvent(stream, event, 0));
}

void free_stream(CUstream_st* stream) noexcept {
  cudaStreamDestroy(stream);
}

CUevent_st* make_event() {
  CUevent_st* event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

void record(CUevent_st* event, CUstream_st* stream) {
  check(cudaEventRecord(event, stream));
}

bool has_happened(CUevent_st* event) {
  const cudaError_t code = cudaEventQuery(event);
  if (code == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(code);
  return true;
}

void wait(CUevent_st* event) {
  check(cudaEventSynchronize(event));
}

void free_event(CUevent_st* event) noexcept {
  cudaEventDestroy(event);
}

std::byte* allocate(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMalloc(&data, std::max<std::size_t>(bytes, 1)));
  return static_cast<std::byte*>(data);
}

void free_memory(std::byte* data) noexcept {
  cudaFree(data);
}

std::byte* allocate_pinned(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMallocHost(&data, std::max<std::size_t>(bytes, 1)));
  return static_cast<std::byte*>(data);
}

void free_pinned(std::byte* data) noexcept {
  cudaFreeHost(data);
}

void copy(void* into, const void* from, std::size_t bytes, CUstream_st* stream) {
  check(cudaMemcpyAsync(into, from, bytes, cudaMemcpyDefault, stream));
}

void zero(void* into, std::size_t bytes, CUstream_st* stream) {
  check(cudaMemsetAsync(into, 0, bytes, stream));
}

}  // namespace cuda
}  // namespace mgpu::cluster
