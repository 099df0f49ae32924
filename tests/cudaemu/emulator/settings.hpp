#pragma once

#include <string>

namespace cudaemu {

enum class Order { forward, backward, random };

/// Read from the environment once; tests may change them.
struct Settings {
  Order order = Order::forward;  // CUDAEMU_ORDER: of threads in a block, and of blocks
  bool is_lazy = false;          // CUDAEMU_LAZY=1: launches and copies wait to be waited for
  bool counts = false;           // CUDAEMU_COUNT=1: at the end, how often each kernel was launched
  std::string skipped;           // CUDAEMU_SKIP=FILE:LINE: a __syncthreads() that does nothing
};

Settings& settings();

}  // namespace cudaemu
