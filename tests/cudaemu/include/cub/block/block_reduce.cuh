// Emulates cub::BlockReduce for one-dimensional blocks, with the steps of CUB's default algorithm.
// Each warp combines its values in the order of a tree, and writes the result to a slot of
// TempStorage. After one barrier, the first thread combines the slots.
#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

#include "../../cudaemu/block.hpp"
#include "../../cudaemu/builtins.hpp"

namespace cub {

template <class T, int kBlockThreads>
class BlockReduce {
  static constexpr unsigned kThreads = kBlockThreads;
  static constexpr unsigned kWarps = (kThreads + cudaemu::kLanes - 1) / cudaemu::kLanes;
  static_assert(std::is_trivially_copyable_v<T>);

public:
  struct TempStorage {
    alignas(T) unsigned char warps[kWarps * sizeof(T)];
  };

  explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

  /// Returns the result on the first thread. The others get poison, because CUB leaves theirs
  /// undefined.
  template <class Op>
  T Reduce(const T& value, Op op, cudaemu::Place place = cudaemu::Place::current()) {
    if (blockDim.x * blockDim.y * blockDim.z != kThreads)
      cudaemu::fail("BlockReduce for another number of threads than the block has", place);
    const T sum = warp_sum(value, op, place);
    const unsigned thread = cudaemu::thread_of_block();
    if (cudaemu::lane() == 0) slot(thread / cudaemu::kLanes) = sum;
    cudaemu::block_barrier(place);
    if (thread != 0) return cudaemu::poison<T>();
    T all = sum;
    for (unsigned warp = 1; warp < kWarps; ++warp)
      all = op(all, slot(warp));
    return all;
  }

  T Sum(const T& value, cudaemu::Place place = cudaemu::Place::current()) {
    return Reduce(
        value, [](const T& a, const T& b) { return a + b; }, place);
  }

private:
  T& slot(unsigned warp) { return reinterpret_cast<T*>(storage_.warps)[warp]; }

  /// Combines the values of a warp in the order of a tree of __shfl_down_sync. Returns the result
  /// on the first lane, and poison on the others.
  template <class Op>
  static T warp_sum(const T& value, Op op, cudaemu::Place place) {
    const unsigned first = cudaemu::thread_of_block() - cudaemu::lane();
    const unsigned count = std::min(cudaemu::kLanes, kThreads - first);
    const bool is_first = cudaemu::lane() == 0;
    alignas(T) unsigned char bytes[cudaemu::kLanes * sizeof(T)];
    cudaemu::exchange(~0U >> (cudaemu::kLanes - count),
                      {&value, is_first ? bytes : nullptr, sizeof(T), cudaemu::kLanes}, place);
    if (!is_first) return cudaemu::poison<T>();
    T* const lanes = reinterpret_cast<T*>(bytes);
    for (unsigned step = 1; step < cudaemu::kLanes; step *= 2)
      for (unsigned l = 0; l + step < count; ++l)  // ascending, so that the second operand
                                                   // is of the previous step
        lanes[l] = op(lanes[l], lanes[l + step]);
    return lanes[0];
  }

  TempStorage& storage_;
};

}  // namespace cub
