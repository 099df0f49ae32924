#pragma once

#include <cstdint>

#include <mgpu/config/config.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/plan_machine.hpp>

namespace mgpu::jobs {

/// Bytes that a run of these keys writes at most: journal and sealed file. 0 without prompts.
std::uint64_t generate_disk_bytes(const Config& config);

/// What a run of job generate will take, by arithmetic on the folder's headers and the tokenized
/// prompts; nothing is measured, so every time is a guess and says on what basis.
///
/// Errors: those of read_generate_inputs(), and E531 for lines that cannot be used.
report::Plan plan_generate(const Config& config, const run::PlanMachine& machine);

}  // namespace mgpu::jobs
