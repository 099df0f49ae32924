#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/device_work.hpp>

#include "cuda_calls.hpp"

namespace mgpu::cluster {
namespace {

constexpr std::align_val_t kAlignment{256};

std::atomic<bool> keeps_device_memory = false;

bool is_cuda(Device device) {
  return device.kind == DeviceKind::cuda;
}

std::byte* allocate(Device device, std::size_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::pinned_host) return cuda::allocate_pinned(bytes);
  if (!is_cuda(device)) return static_cast<std::byte*>(::operator new(bytes, kAlignment));
  cuda::set_device(device.index);
  return cuda::allocate(bytes);
}

}  // namespace

void use_device(Device device) {
  if (is_cuda(device)) cuda::set_device(device.index);
}

void StreamTraits::destroy(Raw stream) noexcept {
  cuda::free_stream(stream);
}

Stream::Stream(Device device) {
  if (!is_cuda(device)) return;
  cuda::set_device(device.index);
  handle_.reset(cuda::make_stream());
}

void Stream::wait_for(CUevent_st* event) const {
  if (event != nullptr) cuda::stream_wait(get(), event);
}

void EventTraits::destroy(Raw event) noexcept {
  cuda::free_event(event);
}

Event::Event(Device device) {
  if (!is_cuda(device)) return;
  cuda::set_device(device.index);
  handle_.reset(cuda::make_event());
}

void Event::record(CUstream_st* stream) const {
  if (handle_) cuda::record(get(), stream);
}

bool Event::has_happened() const {
  return !handle_ || cuda::has_happened(get());
}

void Event::wait() const {
  if (handle_) cuda::wait(get());
}

Buffer::Buffer(Device device, std::size_t bytes, MemoryKind kind)
    : device_(kind == MemoryKind::pinned_host ? Device{} : device),
      bytes_(bytes),
      kind_(kind),
      data_(allocate(device, bytes, kind)) {}

Buffer::Buffer(Buffer&& other) noexcept
    : device_(other.device_),
      bytes_(std::exchange(other.bytes_, 0)),
      kind_(other.kind_),
      data_(std::exchange(other.data_, nullptr)) {}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  const bool is_host = kind_ == MemoryKind::device && !is_cuda(device_);
  if (keeps_device_memory && !is_host) return;
  if (kind_ == MemoryKind::pinned_host) {
    cuda::free_pinned(data_);
  } else if (is_cuda(device_)) {
    cuda::free_memory(data_);
  } else {
    ::operator delete(data_, kAlignment);
  }
}

void keep_device_memory() noexcept {
  keeps_device_memory = true;
}

BufferView Buffer::view(std::size_t count, DType dtype) const {
  return slice({data_, bytes_ / size_of(dtype), dtype, device_}, 0, count);
}

BufferView slice(BufferView view, std::size_t begin, std::size_t count) {
  if (begin > view.count || count > view.count - begin) {
    throw ShapeError("a slice of " + std::to_string(count) + " elements from " +
                     std::to_string(begin) + " on does not fit into " + std::to_string(view.count));
  }
  return {static_cast<std::byte*>(view.data) + begin * size_of(view.dtype), count, view.dtype,
          view.device};
}

void copy(BufferView into, BufferView from, CUstream_st* stream) {
  if (into.bytes() != from.bytes()) throw ShapeError("copy between buffers of different sizes");
  if (is_cuda(into.device) || is_cuda(from.device)) {
    cuda::copy(into.data, from.data, into.bytes(), stream);
  } else if (into.count > 0) {
    std::memcpy(into.data, from.data, into.bytes());
  }
}

void zero(BufferView into, CUstream_st* stream) {
  if (is_cuda(into.device)) {
    cuda::zero(into.data, into.bytes(), stream);
  } else if (into.count > 0) {
    std::memset(into.data, 0, into.bytes());
  }
}

}  // namespace mgpu::cluster
