// Defines functions that device code has without an #include.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <math.h>

#include "block.hpp"

using std::max;
using std::min;

inline void __syncthreads(cudaemu::Place place = cudaemu::Place::current()) {
  cudaemu::block_barrier(place);
}
inline void __syncwarp(unsigned mask = ~0U, cudaemu::Place place = cudaemu::Place::current()) {
  cudaemu::warp_barrier(mask, place);
}

namespace cudaemu {

template <class T>
T shuffle(unsigned mask, T value, unsigned from, Place place) {
  static_assert(std::is_trivially_copyable_v<T>);
  T result = value;
  exchange(mask, {&value, &result, sizeof value, from}, place);
  return result;
}

/// Returns a mask whose bit l is set if the predicate of lane l is true.
inline unsigned vote(unsigned mask, int predicate, Place place) {
  const unsigned mine = predicate != 0 ? 1 : 0;
  std::array<unsigned, kLanes> all{};
  exchange(mask, {&mine, all.data(), sizeof mine, kLanes}, place);
  unsigned bits = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    bits |= all[l] << l;
  return bits;
}

}  // namespace cudaemu

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = warpSize,
              cudaemu::Place place = cudaemu::Place::current()) {
  const auto segment = static_cast<unsigned>(width);
  const unsigned first = cudaemu::lane() / segment * segment;
  return cudaemu::shuffle(mask, value, first + static_cast<unsigned>(from) % segment, place);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize,
                  cudaemu::Place place = cudaemu::Place::current()) {
  const auto segment = static_cast<unsigned>(width);
  const unsigned from = cudaemu::lane() ^ static_cast<unsigned>(bits);
  const bool is_allowed = from / segment <= cudaemu::lane() / segment;
  return cudaemu::shuffle(mask, value, is_allowed ? from : cudaemu::lane(), place);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize,
                   cudaemu::Place place = cudaemu::Place::current()) {
  const auto segment = static_cast<unsigned>(width);
  const bool is_inside = cudaemu::lane() % segment + by < segment;
  return cudaemu::shuffle(mask, value, cudaemu::lane() + (is_inside ? by : 0), place);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize,
                 cudaemu::Place place = cudaemu::Place::current()) {
  const bool is_inside = cudaemu::lane() % static_cast<unsigned>(width) >= by;
  return cudaemu::shuffle(mask, value, cudaemu::lane() - (is_inside ? by : 0), place);
}

inline unsigned __ballot_sync(unsigned mask, int predicate,
                              cudaemu::Place place = cudaemu::Place::current()) {
  return cudaemu::vote(mask, predicate, place);
}
inline int __any_sync(unsigned mask, int predicate,
                      cudaemu::Place place = cudaemu::Place::current()) {
  return cudaemu::vote(mask, predicate, place) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned mask, int predicate,
                      cudaemu::Place place = cudaemu::Place::current()) {
  return cudaemu::vote(mask, predicate, place) == mask ? 1 : 0;
}

template <class T>
T atomicAdd(T* at, T value) {
  return std::atomic_ref<T>(*at).fetch_add(value, std::memory_order_relaxed);
}
template <class T>
T atomicCAS(T* at, T expected, T value) {
  std::atomic_ref<T>(*at).compare_exchange_strong(expected, value, std::memory_order_relaxed);
  return expected;
}
template <class T>
T atomicMax(T* at, T value) {
  T old = std::atomic_ref<T>(*at).load(std::memory_order_relaxed);
  while (old < value && !std::atomic_ref<T>(*at).compare_exchange_weak(old, value)) {
  }
  return old;
}

inline float rsqrtf(float x) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
}
