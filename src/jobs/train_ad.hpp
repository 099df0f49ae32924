#pragma once

#include <vector>

#include <mgpu/jobs/file_check.hpp>
#include <mgpu/jobs/run_context.hpp>

// Job train with Algorithm Distillation: histories, training, evaluation, results.h5.
namespace mgpu::jobs {

/// Errors: Failure (exit 78).
void check_ad_training(const Config& config, int ranks);

/// Errors: Failure E603 (exit 66).
void check_ad_files(const Config& config);
std::vector<FileCheck> ad_file_checks(const Config& config);

/// Source: guide 001; Laskin et al. 2022, arXiv 2210.14215.
/// Ranks:  collective over the world.
JobOutcome run_ad_training(RunContext& run);

}  // namespace mgpu::jobs
