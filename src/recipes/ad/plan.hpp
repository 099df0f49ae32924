#pragma once

#include <cstdint>

#include <mgpu/config/config.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/plan_machine.hpp>

namespace mgpu::recipes {

/// Bytes that a run of these keys writes at most: journal and sealed files of histories and
/// evaluation, and as many checkpoints as lie there at once.
std::uint64_t ad_disk_bytes(const Config& config);

/// What a run will take, by arithmetic on shapes; nothing is measured, so every time is a guess and
/// says on what basis.
///
/// Errors: those of check_ad_training(), which is to be called before.
report::Plan plan_ad_training(const Config& config, const run::PlanMachine& machine);

}  // namespace mgpu::recipes
