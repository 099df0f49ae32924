#pragma once

#include <cstddef>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/unique_handle.hpp>

struct CUstream_st;
struct CUevent_st;

namespace mgpu::cluster {

// This header declares streams, events and memory of a device. The same code works on the CPU and
// with CUDA. On the CPU, work is done when its call returns, streams and events are null, and
// waiting does nothing. With a CUDA device, each call throws LibraryError on failure, or
// NotBuiltError in a build without CUDA.

/// Makes `device` the current device of this thread.
void use_device(Device device);

struct StreamTraits {
  using Raw = CUstream_st*;
  static constexpr bool kCollective = false;
  static Raw null() noexcept { return nullptr; }
  static void destroy(Raw stream) noexcept;
};

/// A high-priority stream that does not synchronize with the legacy default stream.
class Stream {
public:
  explicit Stream(Device device);
  CUstream_st* get() const noexcept { return handle_.get(); }

  /// Makes later work of this stream start after `event`. Does not block.
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

/// A CUDA event. It marks the work that is in a stream at the time of record().
class Event {
public:
  explicit Event(Device device);
  CUevent_st* get() const noexcept { return handle_.get(); }

  void record(CUstream_st* stream) const;
  bool has_happened() const;

  /// Blocks this thread until the marked work is done.
  void wait() const;

private:
  UniqueHandle<EventTraits> handle_;
};

enum class MemoryKind { device, pinned_host };

/// A block of uninitialized memory, aligned to 256 bytes, which the object owns. Memory of kind
/// pinned_host needs CUDA, even if `device` is the CPU.
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

  /// Returns a view of the first `count` elements of this buffer.
  /// Errors: ShapeError when the buffer is smaller.
  BufferView view(std::size_t count, DType dtype) const;

private:
  Device device_;  // location of the memory: the CPU for pinned memory
  std::size_t bytes_;
  MemoryKind kind_;
  std::byte* data_;
};

/// Makes the destructor of every Buffer keep GPU memory and pinned memory instead of freeing it.
/// Call this function when work on a GPU may never end, because CUDA waits for all work before it
/// frees memory. Any thread may call it.
void keep_device_memory() noexcept;

/// Returns a view of elements [begin, begin + count) of `view`.
/// Errors: ShapeError when `view` has fewer than begin + count elements.
BufferView slice(BufferView view, std::size_t begin, std::size_t count);

/// Copies `from` to `into`, in stream order. Each of the two may be in host or device memory.
/// Errors: ShapeError when their sizes in bytes differ.
void copy(BufferView into, BufferView from, CUstream_st* stream);

/// Sets all bytes of `into` to 0, in stream order.
void zero(BufferView into, CUstream_st* stream);

}  // namespace mgpu::cluster
