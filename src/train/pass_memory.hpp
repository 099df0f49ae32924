#pragma once

#include <cstdint>

#include <mgpu/base/error.hpp>
#include <mgpu/tensor/parameter_arena.hpp>
#include <mgpu/train/adamw.hpp>

namespace mgpu::train {

/// Returns the report of a rank that ran out of memory in a pass: the rank, the memory that
/// weights, gradients and optimizer keep, the free memory, and a setting that needs less. `cause`
/// is the report of the failed allocation, and `largest` the number of items in the rank's largest
/// pass.
ErrorReport pass_out_of_memory(const ErrorReport& cause, int rank, std::int64_t largest,
                               const tensor::ParameterArena& parameters, const Adamw& optimizer);

}  // namespace mgpu::train
