#pragma once

#include <cstdint>

#include <mgpu/config/config.hpp>

namespace mgpu::store {

/// The values of the configuration keys checkpoint.*.
struct CheckpointConfig {
  std::int64_t every = 1000;    // checkpoint.every: save after this many steps; 0: off
  double every_minutes = 20.0;  // checkpoint.every_minutes: save after this many minutes; 0: off
  int keep = 3;  // checkpoint.keep: number of newest checkpoints kept; the best is kept too
};

/// Adds the keys checkpoint.* to the program's table of keys.
void add_checkpoint_keys(KeyTable& table);

CheckpointConfig read_checkpoint_config(const Config& config);

}  // namespace mgpu::store
