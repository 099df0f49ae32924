#pragma once

#include <string>

#include <mgpu/jobs/run_context.hpp>

namespace mgpu::jobs {

/// Adds every key that job train reads.
void add_train_job_keys(KeyTable& table);

/// Rules between the keys of job train, for --check and before any work.
///
/// Errors: Failure (exit 78 or 69) for what this many ranks cannot do or this program lacks.
void check_train_job(const Config& config, int ranks);

/// What is in the histories of data.path, which has to be set.
///
/// Ranks:  collective over `world`.
/// Errors: those of read_histories(), and histories that do not fit the keys.
std::string check_train_data(const cluster::Group& world, const Config& config);

/// Job train: histories, training, evaluation, results.h5.
///
/// Source: guide 001; Laskin et al. 2022, arXiv 2210.14215.
/// Ranks:  collective over the world.
/// Errors: Failures of its phases, the same on all ranks wherever more than one could notice.
JobOutcome run_train_job(RunContext& run);

}  // namespace mgpu::jobs
