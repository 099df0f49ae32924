#pragma once

#include <cstdint>

#include <mgpu/config/config.hpp>

namespace mgpu::store {

/// The values of the configuration keys checkpoint.*.
struct CheckpointConfig {
  std::int64_t every = 1000;    // checkpoint.every: steps between two saves; 0: not by steps
  double every_minutes = 20.0;  // checkpoint.every_minutes: time between two saves; 0: not by time
  int keep = 3;  // checkpoint.keep: number of newest checkpoints kept; the best is kept too
};

/// Adds the keys checkpoint.* to the program's table of keys.
void add_checkpoint_keys(KeyTable& table);

CheckpointConfig read_checkpoint_config(const Config& config);

}  // namespace mgpu::store
