#pragma once

#include <cstdint>

#include <mgpu/config/config.hpp>
#include <mgpu/train/batch_plan.hpp>

namespace mgpu::train {

/// Settings of the training loop. The settings of the optimizer are in optimizer_config.hpp.
struct TrainConfig {
  BatchShape batch{};
  std::int64_t eval_every = 0;   // optimizer steps; 0: only at the end
  std::int64_t max_skipped = 3;  // allowed steps with an infinite or NaN gradient
};

/// Adds train.global_batch_size, micro_batch_size, lanes, ... to the table of keys.
void add_train_keys(KeyTable& table);

/// Reads the keys. Errors: Failure (exit 78) when keys contradict each other.
TrainConfig read_train_config(const Config& config);

/// Checks that this number of ranks can share the batch. Errors: Failure E122 or E123 (exit 78).
void check_batch(const Config& config, int ranks);

}  // namespace mgpu::train
