#pragma once

#include <cstdint>

#include <mgpu/config/config.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/plan_machine.hpp>

namespace mgpu::recipes {

/// Upper bound of the bytes that a run with these keys writes: journal and sealed files of
/// histories and evaluation, and as many checkpoints as exist at once.
std::uint64_t ad_disk_bytes(const Config& config);

/// Estimates the cost of a run from shapes, without measuring. Every time is an estimate and states
/// its basis.
///
/// Errors: those of check_ad_training(), which the caller must call first.
report::Plan plan_ad_training(const Config& config, const run::PlanMachine& machine);

}  // namespace mgpu::recipes
