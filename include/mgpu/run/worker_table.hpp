#pragma once

#include <string>

#include <mgpu/run/run_context.hpp>

namespace mgpu::run {

/// Prints which GPUs, or on the CPU which ranks, each copy of the model has, as guide 004 does:
/// under "Multi-GPU Teacher Logits Generation" where `what` is the rest of it.
///
/// Ranks:  collective over the world.
void show_workers(const RunContext& run, const std::string& what);

}  // namespace mgpu::run
