#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/device_work.hpp>

namespace mgpu::train {

// Sums lanes in one fixed tree. The global batch is divided into lanes. Their number is a power of
// two, and each rank owns consecutive lanes. The sum follows the balanced binary tree over the lane
// index, ((0 + 1) + (2 + 3)) + ...: first within ranks, then between them. Floating-point addition
// is commutative, so the bits depend only on the tree, not on which rank computes which partial
// sum.

/// A function that adds `from` to `into`, element by element. It enqueues this work on `stream`,
/// which is null on the CPU.
using Accumulate = std::function<void(BufferView into, BufferView from, CUstream_st* stream)>;

/// Adds `from` to `into`, both f32 in host memory, and ignores `stream`. It can be used as an
/// Accumulate.
/// Errors: Error when the values are not f32; ShapeError when `from` is shorter than `into`.
void add_on_host(BufferView into, BufferView from, CUstream_st* stream);

/// Checks that `ranks` ranks can share `lanes` lanes. A lane is a fixed part of the global batch,
/// whose gradient is a leaf of the tree of sums.
/// Errors: Failure E122 (exit 78) unless `lanes` is a power of two that `ranks` divides.
void check_lanes(int lanes, int ranks);

/// Sums the gradients of one rank's lanes along the balanced binary tree over the lanes. At any
/// time, this object stores at most one partial sum of each size 1, 2, 4, ... lanes, like the bits
/// of a binary counter.
///
/// Memory: log2(local_lanes) buffers of the arena's size, on its device.
class LaneTree {
public:
  /// Sums `local_lanes` gradients, which the caller writes to `arena` one after the other.
  /// Errors: Error when `local_lanes` is not a power of two.
  LaneTree(BufferView arena, int local_lanes, Accumulate add);

  /// Takes the values in the arena as the gradient of the next lane, and zeroes the arena. Do not
  /// call this function for the last lane, whose gradient stays in the arena.
  /// Errors: Error when only the last lane is left.
  void add_lane(CUstream_st* stream);

  /// Checks that add_lane() was called for all lanes except the last one.
  /// Errors: Error otherwise.
  void require_last_lane() const;

  /// Adds the gradients of all lanes of this rank except the last one to elements [begin, begin +
  /// count) of the arena. The arena must hold the gradient of the last lane.
  void add_to_last(std::size_t begin, std::size_t count, CUstream_st* stream) const;

  void restart() { lanes_added_ = 0; }
  void skip_to_last_lane() { lanes_added_ = local_lanes_ - 1; }

private:
  BufferView level(std::size_t index) const;

  BufferView arena_;
  int local_lanes_;
  Accumulate add_;
  int lanes_added_ = 0;
  std::vector<cluster::Buffer> levels_;  // [k]: sum of 2^k lanes while bit k of lanes_added_ is 1
};

/// Sums `values` over all ranks, in a fixed tree over rank numbers. Afterwards `values` holds the
/// sum on every rank.
///
/// Shapes: scratch is at least as long as values; both on the communicator's device.
/// Ranks:  collective over the communicator, whose size is a power of two.
/// Source: recursive doubling, as in Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005.
void add_across_ranks(cluster::Communicator& communicator, BufferView values, BufferView scratch,
                      const Accumulate& add, const cluster::Stream& stream);

}  // namespace mgpu::train
