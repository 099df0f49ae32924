#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <nccl.h>

namespace nccl_standin {

inline constexpr int kMaxRanks = 8;
inline constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

/// A collective call as the other ranks see it.
struct Shape {
  std::int32_t kind, type, detail;
  std::uint64_t bytes;
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// A slot that a rank fills for all others. The counters are the numbers of pieces so far.
struct Slot {
  std::atomic<std::uint64_t> written;
  std::atomic<std::uint64_t> read;  // pieces of all ranks that this rank has read
  Shape shape;
  std::array<std::byte, kPieceBytes> piece;
};

/// Pieces from one rank to another.
struct Channel {
  std::atomic<std::uint64_t> written;
  std::atomic<std::uint64_t> read;
  std::uint64_t bytes;  // of all pieces of this transfer
  std::array<std::byte, kPieceBytes> piece;
};

struct Member {
  std::atomic<std::int32_t> pid;  // 0: not yet here
  std::atomic<bool> is_finalized;
  std::atomic<bool> is_gone;  // has aborted, or was told to look dead
  std::uint64_t gpu;          // which GPU of which host
};

/// The memory that the ranks of a communicator share; zeros at first.
struct Layout {
  std::array<Member, kMaxRanks> members;
  std::array<Slot, kMaxRanks> slots;
  std::array<std::array<Channel, kMaxRanks>, kMaxRanks> channels;  // [from][to]
};

/// Maps a Layout. The first rank makes it, and the others open it as a file of the first rank's
/// process. So ranks that are killed leave no files.
class Segment {
public:
  Segment() = default;
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  /// Makes the memory, and writes its place to `id`. Returns false if there is no memory.
  static bool make(ncclUniqueId& id);

  /// Maps the memory. Returns false on failure, for example if the first rank has ended.
  bool open(const ncclUniqueId& id);

  Layout& operator*() const { return *layout_; }
  Layout* operator->() const { return layout_; }

private:
  Layout* layout_ = nullptr;
};

}  // namespace nccl_standin
