#pragma once

#include <cstddef>

#include "sanitizers.hpp"

namespace cudaemu {

/// A stack on which a function runs until it hands over to another fiber.
class Fiber {
public:
  /// The fiber of the operating system's thread that calls.
  static Fiber current();

  /// Puts `main`, which never returns, at the begin of the stack. `index` differs between fibers.
  void begin(void (*main)(), std::size_t index);

  /// Gives up what the fiber was doing.
  void abandon(const Fiber& caller);

  /// Returns when somebody hands over to `from`.
  static void hand_over(Fiber& from, Fiber& to);

private:
  char* stack_ = nullptr;  // lives as long as the program
  void* top_ = nullptr;    // saved registers
  WatchedFiber watched_;
};

}  // namespace cudaemu
