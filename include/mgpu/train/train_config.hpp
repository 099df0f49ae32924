#pragma once

#include <cstdint>

#include <mgpu/config/config.hpp>
#include <mgpu/train/batch_plan.hpp>

namespace mgpu::train {

/// Settings of the training loop. The settings of the optimizer are in optimizer_config.hpp.
struct TrainConfig {
  BatchShape batch{};
  std::int64_t eval_every = 0;  // optimizer steps between evaluations; 0: only at the end
  /// Number of steps that may be skipped because of an infinite or NaN gradient. The count begins
  /// at 0 again each time the program starts.
  std::int64_t max_skipped = 3;
};

/// Adds train.global_batch_size, train.micro_batch_size, train.lanes, ... to the table of keys.
void add_train_keys(KeyTable& table);

/// Reads the keys that add_train_keys() adds.
/// Errors: Failure E124 (exit 78) when train.gradient_accumulation_steps is above 1 with
///         run.deterministic=layout.
TrainConfig read_train_config(const Config& config);

/// Checks that `ranks` ranks can share the global batch.
/// Errors: Failure E122 (the lanes do not fit) or E123 (fewer items than ranks), both exit 78; see
///         problem_of().
void check_batch(const Config& config, int ranks);

}  // namespace mgpu::train
