// Emulates the functions of the CUDA runtime for devices, streams and events.
#include <algorithm>
#include <cstdio>

#include "device.hpp"
#include "settings.hpp"
#include "stream.hpp"

using cudaemu::device;
using cudaemu::Marker;

namespace {

thread_local int current_device = 0;

/// Returns cudaErrorLaunchFailure if a kernel has failed, because CUDA reports this in all later
/// calls.
cudaError_t failure() {
  return device().last_error() == cudaErrorLaunchFailure ? cudaErrorLaunchFailure : cudaSuccess;
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  *count = cudaemu::settings().devices;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
  constexpr std::size_t kMemoryBytes = std::size_t{16} << 30;
  if (index < 0 || index >= cudaemu::settings().devices) return cudaErrorInvalidDevice;
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "emulated GPU %d", index);
  std::ranges::fill(properties->uuid.bytes, static_cast<char>(index + 1));
  properties->totalGlobalMem = kMemoryBytes;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* index) {
  *index = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int index) {
  if (index < 0 || index >= cudaemu::settings().devices) return cudaErrorInvalidDevice;
  current_device = index;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = new CUstream_st{cudaemu::Worker::start(), current_device};
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  stream->worker->end();
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream == nullptr) {
    device().wait();
    return device().take_error();
  }
  stream->worker->wait();
  return failure();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event->last == nullptr) return cudaSuccess;
  cudaemu::queue_in(stream, [marker = event->last] {
    if (!marker->is_reached()) device().wait();  // the marker may be in the null stream's queue
    marker->wait();
  });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st{nullptr, current_device};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (stream != nullptr && stream->device != event->device) return cudaErrorInvalidResourceHandle;
  event->last = std::make_shared<Marker>();
  cudaemu::queue_in(stream, [marker = event->last] { marker->reach(); });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  device().wait();  // a GPU works on even if the host only polls
  if (failure() != cudaSuccess) return failure();
  return event->last == nullptr || event->last->is_reached() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->last != nullptr) {
    device().wait();
    event->last->wait();
  }
  return failure();
}
