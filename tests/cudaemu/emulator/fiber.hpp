#pragma once

#include <cstddef>

#include "sanitizers.hpp"

namespace cudaemu {

/// A stack on which a function runs until it switches to another fiber.
class Fiber {
public:
  /// Returns the fiber of the calling thread of the operating system.
  static Fiber current();

  /// Puts `main`, which never returns, at the start of the stack. `index` differs between fibers.
  void begin(void (*main)(), std::size_t index);

  /// Abandons the fiber's current work.
  void abandon(const Fiber& caller);

  /// Switches fibers; returns when another fiber switches to `from`.
  static void hand_over(Fiber& from, Fiber& to);

private:
  char* stack_ = nullptr;  // valid for the whole program
  void* top_ = nullptr;    // saved registers
  WatchedFiber watched_;
};

}  // namespace cudaemu
