#pragma once

#include <cstddef>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/unique_handle.hpp>

struct CUstream_st;
struct CUevent_st;

namespace mgpu::cluster {

// Streams, events and memory of a device, so that one code serves both: on the CPU work is done
// when the call returns, streams and events are null, and waiting does nothing. With a CUDA
// device each call throws LibraryError, or NotBuiltError in a build without CUDA.

/// Makes `device` the current one of this thread.
void use_device(Device device);

struct StreamTraits {
  using Raw = CUstream_st*;
  static constexpr bool kCollective = false;
  static Raw null() noexcept { return nullptr; }
  static void destroy(Raw stream) noexcept;
};

/// A stream of high priority that does not wait for the legacy default stream.
class Stream {
public:
  explicit Stream(Device device);
  CUstream_st* get() const noexcept { return handle_.get(); }

  /// Later work of this stream starts after the event. Does not block.
  void wait_for(CUevent_st* event) const;

private:
  UniqueHandle<StreamTraits> handle_;
};

struct EventTraits {
  using Raw = CUevent_st*;
  static constexpr bool kCollective = false;
  static Raw null() noexcept { return nullptr; }
  static void destroy(Raw event) noexcept;
};

/// A mark behind the work that a stream holds at the time of record().
class Event {
public:
  explicit Event(Device device);
  CUevent_st* get() const noexcept { return handle_.get(); }

  void record(CUstream_st* stream) const;
  bool has_happened() const;

  /// Blocks this thread until the work in front of the mark is done.
  void wait() const;

private:
  UniqueHandle<EventTraits> handle_;
};

enum class MemoryKind { device, pinned_host };

/// Uninitialized bytes, 256-byte aligned.
class Buffer {
public:
  Buffer(Device device, std::size_t bytes, MemoryKind kind = MemoryKind::device);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) = delete;
  ~Buffer();

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }

  /// The first `count` elements.
  BufferView view(std::size_t count, DType dtype) const;

private:
  Device device_;  // of the memory: the CPU when it is pinned
  std::size_t bytes_;
  MemoryKind kind_;
  std::byte* data_;
};

/// `count` elements from `begin` on.
BufferView slice(BufferView view, std::size_t begin, std::size_t count);

/// Copies into.bytes() bytes, in the order of `stream`; either side may be host or device.
void copy(BufferView into, BufferView from, CUstream_st* stream);

/// Sets all bytes to 0, in the order of `stream`.
void zero(BufferView into, CUstream_st* stream);

}  // namespace mgpu::cluster
