#pragma once

#include <cstdint>

#include <mgpu/config/config.hpp>
#include <mgpu/train/batch_plan.hpp>

namespace mgpu::train {

/// What the training loop needs to know; the optimizer's own keys are in optimizer_config.hpp.
struct TrainConfig {
  BatchShape batch{};            //
  std::int64_t eval_every = 0;   // optimizer steps; 0: only at the end
  std::int64_t max_skipped = 3;  // steps whose gradient may be infinite or NaN
  std::uint64_t seed = 0;
};

/// Rows train.global_batch_size, micro_batch_size, lanes, ... of the table of keys.
void add_train_keys(KeyTable& table);

/// Errors: Failure (exit 78) where keys contradict each other.
TrainConfig read_train_config(const Config& config);

/// Errors: Failure E122 or E123 (exit 78) where so many ranks cannot share the batch.
void check_batch(const Config& config, int ranks);

}  // namespace mgpu::train
