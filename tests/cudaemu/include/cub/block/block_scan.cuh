// Emulates inclusive sums of cub::BlockScan for one-dimensional blocks of whole warps. They are
// added in the order of CUB's default algorithm (raking). There 32 lanes add up adjacent values,
// the sums of the lanes are scanned, and each lane processes its values again. Here the first
// thread does all of this.
#pragma once

#include <array>
#include <type_traits>

#include "../../cudaemu/block.hpp"
#include "../../cudaemu/builtins.hpp"

namespace cub {

template <class T, int kBlockThreads>
class BlockScan {
  static constexpr unsigned kThreads = kBlockThreads;
  static constexpr unsigned kSegment = kThreads / cudaemu::kLanes;
  static_assert(kThreads % cudaemu::kLanes == 0 && std::is_trivially_copyable_v<T>);

public:
  struct TempStorage {
    alignas(T) unsigned char grid[kThreads * sizeof(T)];
    alignas(T) unsigned char total[sizeof(T)];
  };

  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  void InclusiveSum(T value, T& out, cudaemu::Place place = cudaemu::Place::current()) {
    T total;
    InclusiveSum(value, out, total, place);
  }

  void InclusiveSum(T value, T& out, T& total, cudaemu::Place place = cudaemu::Place::current()) {
    if (blockDim.x * blockDim.y * blockDim.z != kThreads)
      cudaemu::fail("BlockScan for another number of threads than the block has", place);
    const unsigned thread = cudaemu::thread_of_block();
    grid()[thread] = value;
    cudaemu::block_barrier(place);
    if (thread == 0) rake();
    cudaemu::block_barrier(place);
    out = grid()[thread];
    total = *reinterpret_cast<T*>(storage_.total);
  }

private:
  T* grid() { return reinterpret_cast<T*>(storage_.grid); }

  void rake() {
    std::array<T, cudaemu::kLanes> sums;
    for (unsigned l = 0; l < cudaemu::kLanes; ++l) {
      sums[l] = grid()[l * kSegment];
      for (unsigned i = 1; i < kSegment; ++i)
        sums[l] = sums[l] + grid()[l * kSegment + i];
    }
    for (unsigned step = 1; step < cudaemu::kLanes; step *= 2)
      for (unsigned l = cudaemu::kLanes; l-- > step;)
        sums[l] = sums[l - step] + sums[l];
    for (unsigned l = 0; l < cudaemu::kLanes; ++l) {
      T sum = l == 0 ? grid()[0] : sums[l - 1] + grid()[l * kSegment];
      grid()[l * kSegment] = sum;
      for (unsigned i = 1; i < kSegment; ++i)
        grid()[l * kSegment + i] = sum = sum + grid()[l * kSegment + i];
    }
    *reinterpret_cast<T*>(storage_.total) = sums[cudaemu::kLanes - 1];
  }

  TempStorage& storage_;
};

}  // namespace cub
