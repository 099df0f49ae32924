#include "communicator_staged.hpp"

#include <algorithm>

namespace mgpu::cluster {
namespace {

// Largest size of each of the two pinned buffers. Larger buffers take long to pin and are no
// faster.
constexpr std::size_t kStagedBytes = std::size_t{8} << 20;

std::size_t staged_bytes(const CommunicatorOptions& options) {
  return std::clamp<std::size_t>(options.piece_bytes, 8, kStagedBytes);
}

MemoryKind host_memory_of(Device device) {
  return device.kind == DeviceKind::cuda ? MemoryKind::pinned_host : MemoryKind::device;
}

/// Calls `step` for each piece of `values`. If `values` is empty, calls `step` once, because
/// checked builds (MGPU_CHECKED=1) compare the calls of the ranks even for empty tensors.
template <class Step>
void in_pieces(BufferView values, std::size_t piece_bytes, Step step) {
  const std::size_t piece = piece_bytes / size_of(values.dtype);
  std::size_t done = 0;
  do {
    step(done, std::min(piece, values.count - done));
    done += piece;
  } while (done < values.count);
}

}  // namespace

StagedCommunicator::StagedCommunicator(const Group& group, Device device,
                                       const CommunicatorOptions& options)
    : device_(device),
      host_(group, options),
      stream_(device),
      copied_(device),
      buffers_(new Buffers{{device, staged_bytes(options), host_memory_of(device)},
                           {device, staged_bytes(options), host_memory_of(device)}}) {}

StagedCommunicator::~StagedCommunicator() {
  if (host_.is_dead()) static_cast<void>(buffers_.release());
}

BufferView StagedCommunicator::copy_to_host(BufferView piece) {
  const BufferView host = buffers_->outgoing.view(piece.count, piece.dtype);
  copy(host, piece, stream_.get());
  copied_.record(stream_.get());
  copied_.wait();
  return host;
}

void StagedCommunicator::copy_to_device(BufferView from_host, BufferView piece) {
  copy(piece, from_host, stream_.get());
  copied_.record(stream_.get());
  copied_.wait();
}

void StagedCommunicator::all_reduce(BufferView values, ReduceOp op) {
  use_device(device_);
  in_pieces(values, buffers_->outgoing.bytes(), [&](std::size_t begin, std::size_t n) {
    const BufferView piece = slice(values, begin, n);
    const BufferView host = copy_to_host(piece);
    host_.all_reduce(host, op);
    copy_to_device(host, piece);
  });
}

void StagedCommunicator::broadcast(BufferView values, int root) {
  use_device(device_);
  in_pieces(values, buffers_->outgoing.bytes(), [&](std::size_t begin, std::size_t n) {
    const BufferView piece = slice(values, begin, n);
    const BufferView host = copy_to_host(piece);
    host_.broadcast(host, root);
    copy_to_device(host, piece);
  });
}

void StagedCommunicator::exchange(BufferView mine, BufferView theirs, int peer) {
  if (mine.bytes() != theirs.bytes()) throw ShapeError("exchange of different sizes");
  use_device(device_);
  in_pieces(mine, buffers_->outgoing.bytes(), [&](std::size_t begin, std::size_t n) {
    const BufferView out = copy_to_host(slice(mine, begin, n));
    const BufferView in = buffers_->incoming.view(n, mine.dtype);
    host_.exchange(out, in, peer);
    copy_to_device(in, slice({theirs.data, mine.count, mine.dtype, theirs.device}, begin, n));
  });
}

void StagedCommunicator::send(BufferView values, int peer) {
  use_device(device_);
  in_pieces(values, buffers_->outgoing.bytes(), [&](std::size_t begin, std::size_t n) {
    host_.send(copy_to_host(slice(values, begin, n)), peer);
  });
}

void StagedCommunicator::receive(BufferView values, int peer) {
  use_device(device_);
  in_pieces(values, buffers_->incoming.bytes(), [&](std::size_t begin, std::size_t n) {
    const BufferView in = buffers_->incoming.view(n, values.dtype);
    host_.receive(in, peer);
    copy_to_device(in, slice(values, begin, n));
  });
}

void StagedCommunicator::wait_for(CUevent_st* produced) {
  stream_.wait_for(produced);
}

}  // namespace mgpu::cluster
