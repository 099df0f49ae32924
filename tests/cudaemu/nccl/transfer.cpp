#include "transfer.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include <mgpu/base/half_float.hpp>

namespace nccl_standin {
namespace {

constexpr std::int32_t kAllReduce = 1;
constexpr std::int32_t kBroadcast = 2;

/// A function that makes `bytes` bytes of a result from the pieces in the slots of all ranks.
using Combine = std::function<void(const Layout& layout, std::byte* into, std::size_t bytes)>;

/// The transfer of a collective call. Each rank fills its slot, and reads the slots when all are
/// filled.
class Collective final : public Transfer {
public:
  Collective(const Seat& seat, const void* from, void* into, const Shape& shape, Combine combine)
      : seat_(seat),
        mine_(seat.layout.slots.at(static_cast<std::size_t>(seat.rank))),
        from_(static_cast<const std::byte*>(from)),
        into_(static_cast<std::byte*>(into)),
        shape_(shape),
        combine_(std::move(combine)) {}

  Progress step() override {
    if (done_ == shape_.bytes) return Progress::done;
    return is_written_ ? read() : write();
  }

private:
  bool is_everywhere(const std::function<bool(const Slot&)>& condition) const {
    const auto begin = seat_.layout.slots.begin();
    return std::all_of(begin, begin + seat_.size, condition);
  }

  std::size_t bytes_now() const { return std::min(kPieceBytes, shape_.bytes - done_); }

  Progress write() {
    if (!is_everywhere([&](const Slot& slot) { return slot.read >= seat_.pieces; }))
      return Progress::waiting;
    mine_.shape = shape_;
    std::memcpy(mine_.piece.data(), from_ + done_, bytes_now());
    ++mine_.written;
    is_written_ = true;
    return Progress::moved;
  }

  Progress read() {
    if (!is_everywhere([&](const Slot& slot) { return slot.written > seat_.pieces; }))
      return Progress::waiting;
    if (!is_everywhere([&](const Slot& slot) { return slot.shape == shape_; }))
      return Progress::mismatch;
    combine_(seat_.layout, into_ + done_, bytes_now());
    done_ += bytes_now();
    ++seat_.pieces;
    ++mine_.read;
    is_written_ = false;
    return Progress::moved;
  }

  Seat seat_;
  Slot& mine_;
  const std::byte* from_;
  std::byte* into_;
  Shape shape_;
  Combine combine_;
  std::size_t done_ = 0;
  bool is_written_ = false;
};

template <class T>
T combined(T a, T b, ncclRedOp_t op) {
  if (op == ncclMax) return std::max(a, b);
  if (op == ncclMin) return std::min(a, b);
  return static_cast<T>(a + b);
}

template <class T>
T element(const Layout& layout, int rank, std::size_t index) {
  T value;
  const auto& piece = layout.slots.at(static_cast<std::size_t>(rank)).piece;
  std::memcpy(&value, piece.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Returns a function that reduces the values of all ranks with `op`. It computes in the type Wide:
/// `widen` converts the stored type T to Wide, and `narrow` converts the result back.
template <class T, class Wide>
Combine reduction(int ranks, ncclRedOp_t op, Wide (*widen)(T), T (*narrow)(Wide)) {
  return [=](const Layout& layout, std::byte* into, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
      Wide sum = widen(element<T>(layout, 0, i));
      for (int rank = 1; rank < ranks; ++rank)
        sum = combined(sum, widen(element<T>(layout, rank, i)), op);
      const T result = narrow(sum);
      std::memcpy(into + i * sizeof(T), &result, sizeof(T));
    }
  };
}

template <class T>
Combine plain_reduction(int ranks, ncclRedOp_t op) {
  const auto same = [](T value) { return value; };
  return reduction<T, T>(ranks, op, same, same);
}

Combine reduction_of(ncclDataType_t type, int ranks, ncclRedOp_t op) {
  switch (type) {
    case ncclFloat16:
      return reduction<std::uint16_t, float>(ranks, op, mgpu::from_f16, mgpu::to_f16);
    case ncclBfloat16:
      return reduction<std::uint16_t, float>(ranks, op, mgpu::from_bf16, mgpu::to_bf16);
    case ncclFloat32:
      return plain_reduction<float>(ranks, op);
    case ncclFloat64:
      return plain_reduction<double>(ranks, op);
    case ncclInt8:
      return plain_reduction<std::int8_t>(ranks, op);
    case ncclUint8:
      return plain_reduction<std::uint8_t>(ranks, op);
    case ncclInt32:
      return plain_reduction<std::int32_t>(ranks, op);
    case ncclUint32:
      return plain_reduction<std::uint32_t>(ranks, op);
    case ncclInt64:
      return plain_reduction<std::int64_t>(ranks, op);
    case ncclUint64:
      return plain_reduction<std::uint64_t>(ranks, op);
  }
  return {};
}

Channel& channel(const Seat& seat, int from, int to) {
  return seat.layout.channels.at(static_cast<std::size_t>(from)).at(static_cast<std::size_t>(to));
}

class Send final : public Transfer {
public:
  Send(Channel& channel, const void* from, std::size_t bytes)
      : channel_(channel), from_(static_cast<const std::byte*>(from)), bytes_(bytes) {}

  Progress step() override {
    if (channel_.read != channel_.written) return Progress::waiting;
    if (done_ == bytes_) return Progress::done;
    const std::size_t now = std::min(kPieceBytes, bytes_ - done_);
    channel_.bytes = bytes_;
    std::memcpy(channel_.piece.data(), from_ + done_, now);
    done_ += now;
    ++channel_.written;
    return Progress::moved;
  }

private:
  Channel& channel_;
  const std::byte* from_;
  std::size_t bytes_;
  std::size_t done_ = 0;
};

class Receive final : public Transfer {
public:
  Receive(Channel& channel, void* into, std::size_t bytes)
      : channel_(channel), into_(static_cast<std::byte*>(into)), bytes_(bytes) {}

  Progress step() override {
    if (done_ == bytes_) return Progress::done;
    if (channel_.read == channel_.written) return Progress::waiting;
    if (channel_.bytes != bytes_) return Progress::mismatch;
    const std::size_t now = std::min(kPieceBytes, bytes_ - done_);
    std::memcpy(into_ + done_, channel_.piece.data(), now);
    done_ += now;
    ++channel_.read;
    return Progress::moved;
  }

private:
  Channel& channel_;
  std::byte* into_;
  std::size_t bytes_;
  std::size_t done_ = 0;
};

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
  }
  return 0;
}

std::unique_ptr<Transfer> make_all_reduce(const Seat& seat, const void* from, void* into,
                                          std::size_t count, ncclDataType_t type, ncclRedOp_t op) {
  const Shape shape{kAllReduce, type, op, count * size_of(type)};
  return std::make_unique<Collective>(seat, from, into, shape, reduction_of(type, seat.size, op));
}

std::unique_ptr<Transfer> make_broadcast(const Seat& seat, const void* from, void* into,
                                         std::size_t bytes, int root) {
  return std::make_unique<Collective>(
      seat, from, into, Shape{kBroadcast, 0, root, bytes},
      [root](const Layout& layout, std::byte* to, std::size_t piece) {
        std::memcpy(to, layout.slots.at(static_cast<std::size_t>(root)).piece.data(), piece);
      });
}

std::unique_ptr<Transfer> make_send(const Seat& seat, const void* from, std::size_t bytes,
                                    int peer) {
  return std::make_unique<Send>(channel(seat, seat.rank, peer), from, bytes);
}

std::unique_ptr<Transfer> make_receive(const Seat& seat, void* into, std::size_t bytes, int peer) {
  return std::make_unique<Receive>(channel(seat, peer, seat.rank), into, bytes);
}

}  // namespace nccl_standin
