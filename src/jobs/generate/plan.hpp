#pragma once

#include <cstdint>

#include <mgpu/config/config.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/plan_machine.hpp>

namespace mgpu::jobs {

/// Upper bound of the bytes that a run with these keys writes: journal and sealed file. 0 without
/// prompts.
std::uint64_t generate_disk_bytes(const Config& config);

/// Estimates the cost of a run by arithmetic on the folder's headers and the tokenized prompts,
/// without measuring. Every time is an estimate and states its basis.
///
/// Errors: those of read_generate_inputs(), and E531 for lines that cannot be used.
report::Plan plan_generate(const Config& config, const run::PlanMachine& machine);

}  // namespace mgpu::jobs
