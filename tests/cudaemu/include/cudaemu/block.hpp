// What the headers for device code ask of the block that runs.
#pragma once

#include <cstddef>
#include <cstring>
#include <source_location>

namespace cudaemu {

using Place = std::source_location;

inline constexpr unsigned kLanes = 32;  // of a warp

/// Stops the kernel: a line on stderr, and cudaErrorLaunchFailure is the last error.
[[noreturn]] void fail(const char* what, Place place);

unsigned thread_of_block();  // x runs fastest
unsigned lane();             // of the warp

/// Memory of `extern __shared__` arrays, as much as the launch asks for.
void* dynamic_shared();

/// Returns when all threads of the block wait at this place.
void block_barrier(Place place);

/// What a lane gives to others of its warp, and what it takes.
struct Offer {
  const void* value = nullptr;
  void* result = nullptr;  // nullptr: takes nothing
  std::size_t bytes = 0;   // of the value
  unsigned from = kLanes;  // takes the value of this lane; kLanes: of all, in a row
};

/// Returns when all lanes of `mask` wait at this place with this mask. As with CUDA, shuffles and
/// votes order no other accesses to memory.
void exchange(unsigned mask, const Offer& offer, Place place);

/// Like exchange(), and orders the accesses to memory of these lanes.
void warp_barrier(unsigned mask, Place place);

/// What no computation makes by chance: NaN, -1.
template <class T>
T poison() {
  T value;
  std::memset(static_cast<void*>(&value), 0xFF, sizeof value);
  return value;
}

}  // namespace cudaemu
