#pragma once

#include <mgpu/config/config.hpp>
#include <mgpu/tensor/compute_kind.hpp>
#include <mgpu/train/adamw.hpp>
#include <mgpu/train/lr_schedule.hpp>

namespace mgpu::train {

/// The values of the keys train.* that define the optimizer.
struct OptimizerConfig {
  AdamwConfig adamw;
  LrSchedule schedule;
  tensor::ComputeKind mixed_precision = tensor::ComputeKind::f32;
};

/// Returns the value of train.mixed_precision that selects `precision`: "no", "fp16" or "bf16".
const char* name_of(tensor::ComputeKind precision);

/// Adds train.max_steps, train.learning_rate, train.lr_schedule, ... to the table of keys.
void add_optimizer_keys(KeyTable& table);

/// Reads the keys that add_optimizer_keys() adds. A warm-up that is longer than the training, as in
/// a short trial of a long configuration, is accepted. The learning rate then never reaches its
/// peak.
OptimizerConfig read_optimizer_config(const Config& config);

}  // namespace mgpu::train
