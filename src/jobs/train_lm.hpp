#pragma once

#include <vector>

#include <mgpu/jobs/file_check.hpp>
#include <mgpu/jobs/lm_train_config.hpp>
#include <mgpu/jobs/merged_run.hpp>
#include <mgpu/jobs/plan_machine.hpp>
#include <mgpu/jobs/run_context.hpp>
#include <mgpu/jobs/seal_place.hpp>
#include <mgpu/report/plan_text.hpp>

// Job train with a language model: examples from rows of a file, packed; training; checkpoints that
// are Hugging Face folders; results.h5 with the curves.
namespace mgpu::jobs {

/// Errors: Failure (exit 78).
void check_lm_training(const Config& config, int ranks);

/// Errors: Failure E603 (exit 66), and those of read_lm_config.
void check_lm_files(const Config& config);
std::vector<FileCheck> lm_file_checks(const Config& config);

std::uint64_t lm_disk_bytes(const Config& config);
report::Plan plan_lm_training(const Config& config, const PlanMachine& machine);

/// Ranks: collective over the world.
JobOutcome run_lm_training(RunContext& run);

/// Ranks: collective over `world`. The curves as the newest checkpoint has them.
MergedRun merge_lm_training(const cluster::Group& world, const SealPlace& place);

}  // namespace mgpu::jobs
