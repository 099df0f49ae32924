#pragma once

#include <cstdint>

#include <mgpu/base/config.hpp>
#include <mgpu/jobs/plan_machine.hpp>
#include <mgpu/report/plan_text.hpp>

namespace mgpu::jobs {

/// Bytes that a run of these keys writes at most: journal and sealed files of histories and
/// evaluation, and as many checkpoints as lie there at once.
std::uint64_t train_disk_bytes(const Config& config);

/// What a run of job train will take, by arithmetic on shapes; nothing is measured, so every time
/// is a guess and says on what basis.
///
/// Errors: those of check_train_files(), and of check_train_job(), which is to be called before.
report::Plan plan_train(const Config& config, const PlanMachine& machine);

}  // namespace mgpu::jobs
