// Declares the functions of the running block that the headers of device code call.
#pragma once

#include <cstddef>
#include <cstring>
#include <source_location>

namespace cudaemu {

using Place = std::source_location;

inline constexpr unsigned kLanes = 32;  // of a warp

/// Stops the kernel: prints a line on stderr, and cudaErrorLaunchFailure becomes the last error.
[[noreturn]] void fail(const char* what, Place place);

unsigned thread_of_block();  // x runs fastest
unsigned lane();             // of the warp

/// Returns the memory of `extern __shared__` arrays, whose size is an argument of the launch.
void* dynamic_shared();

/// Returns when all threads of the block wait at this place.
void block_barrier(Place place);

/// The value that a lane offers to others of its warp, and the one that it wants.
struct Offer {
  const void* value = nullptr;
  void* result = nullptr;  // nullptr: wants no value
  std::size_t bytes = 0;   // of the value
  unsigned from = kLanes;  // wants the value of this lane; kLanes: of all, in order
};

/// Returns when all lanes of `mask` wait at this place with this mask. As in CUDA, shuffles and
/// votes do not order other memory accesses.
void exchange(unsigned mask, const Offer& offer, Place place);

/// Waits like exchange(), but exchanges no values. Orders the memory accesses of these lanes.
void warp_barrier(unsigned mask, Place place);

/// Returns a value whose bits are all ones: NaN or -1. Computations hardly produce it by chance.
template <class T>
T poison() {
  T value;
  std::memset(static_cast<void*>(&value), 0xFF, sizeof value);
  return value;
}

}  // namespace cudaemu
