#pragma once

#include <cstddef>

#include "sanitizers.hpp"

namespace cudaemu {

/// A stack on which a function runs until it switches to another fiber.
class Fiber {
public:
  /// Returns the fiber of the calling thread of the operating system.
  static Fiber current();

  /// Lets the next switch to this fiber call `main`, which must never return. `index` is the number
  /// of the fiber. Allocates the stack in the first call.
  void begin(void (*main)(), std::size_t index);

  /// Drops the work on this fiber's stack. `caller` is the fiber that calls this function.
  void abandon(const Fiber& caller);

  /// Switches fibers; returns when another fiber switches to `from`.
  static void hand_over(Fiber& from, Fiber& to);

private:
  char* stack_ = nullptr;  // never freed
  void* top_ = nullptr;    // saved registers
  WatchedFiber watched_;
};

}  // namespace cudaemu
