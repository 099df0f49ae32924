#pragma once

#include <string>

namespace cudaemu {

enum class Order { forward, backward, random };

/// The settings from the environment, read once; tests may change them.
struct Settings {
  Order order = Order::forward;  // CUDAEMU_ORDER: of threads in a block, and of blocks
                                 // (`random` reverses the blocks)
  bool is_lazy = false;          // CUDAEMU_LAZY=1: launches and copies run at the next wait
  bool counts = false;           // CUDAEMU_COUNT=1: prints at the end how often each kernel was
                                 // launched
  int devices = 1;               // CUDAEMU_DEVICES: number of GPUs, 1 to 16
  bool one_connection = false;   // CUDA_DEVICE_MAX_CONNECTIONS=1, a variable of CUDA: work begins
                                 // in the order in which it was queued, whatever its stream
  std::string skipped;           // CUDAEMU_SKIP=FILE:LINE: a __syncthreads() that does nothing
};

Settings& settings();

}  // namespace cudaemu
