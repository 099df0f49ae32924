#pragma once

#include <string>

#include <mgpu/run/run_context.hpp>

namespace mgpu::run {

/// Prints a table with the GPUs of each copy of the model. On the CPU, it prints the ranks of each
/// copy. The title of the table is "Multi-GPU " or "Multi-Rank " followed by `what`.
///
/// Ranks:  collective over the world.
void print_workers(const RunContext& run, const std::string& what);

}  // namespace mgpu::run
