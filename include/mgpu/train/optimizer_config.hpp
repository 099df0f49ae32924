#pragma once

#include <mgpu/config/config.hpp>
#include <mgpu/tensor/compute_kind.hpp>
#include <mgpu/train/adamw.hpp>
#include <mgpu/train/lr_schedule.hpp>

namespace mgpu::train {

/// Keys train.* of the optimizer.
struct OptimizerConfig {
  AdamwConfig adamw;
  LrSchedule schedule;
  tensor::ComputeKind mixed_precision = tensor::ComputeKind::f32;
};

/// Returns the value of the key train.mixed_precision for this type: "no", "fp16" or "bf16".
const char* name_of(tensor::ComputeKind precision);

/// Adds train.max_steps, train.learning_rate, train.lr_schedule, ... to the program's table.
void add_optimizer_keys(KeyTable& table);

/// Reads the keys. The warm-up may be longer than the training (a short trial of a long config);
/// the rate then never reaches its peak.
OptimizerConfig read_optimizer_config(const Config& config);

}  // namespace mgpu::train
