#pragma once

#include <vector>

#include <mgpu/run/file_check.hpp>
#include <mgpu/run/run_context.hpp>

// Job train with Algorithm Distillation: histories, training, evaluation, results.h5.
namespace mgpu::recipes {

/// Errors: Failure (exit 78).
void check_ad_training(const Config& config, int ranks);

/// Errors: Failure E603 (exit 66).
void check_ad_files(const Config& config);
std::vector<run::FileCheck> ad_file_checks(const Config& config);

/// Source: Laskin et al. 2022, arXiv 2210.14215.
/// Ranks:  collective over the world.
run::JobOutcome run_ad_training(run::RunContext& run);

}  // namespace mgpu::recipes
