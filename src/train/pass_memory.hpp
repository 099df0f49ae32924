#pragma once

#include <cstdint>

#include <mgpu/base/error.hpp>
#include <mgpu/tensor/parameter_arena.hpp>
#include <mgpu/train/adamw.hpp>

namespace mgpu::train {

/// Returns the report of a rank that ran out of memory in a pass. The report has the rank, the
/// sizes of weights, gradients and optimizer state, and advice on how to need less memory. On the
/// CPU, the report also has the free memory of the machine. `cause` is the report of the failed
/// allocation. `largest` is the number of items in the rank's largest pass.
ErrorReport pass_out_of_memory(const ErrorReport& cause, int rank, std::int64_t largest,
                               const tensor::ParameterArena& parameters, const Adamw& optimizer);

}  // namespace mgpu::train
