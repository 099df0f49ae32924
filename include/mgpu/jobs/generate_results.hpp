#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/jobs/generate_inputs.hpp>
#include <mgpu/jobs/run_context.hpp>
#include <mgpu/jobs/seal_place.hpp>
#include <mgpu/store/seal.hpp>

namespace mgpu::jobs {

/// What a group of ranks did in this attempt.
struct GroupWork {
  std::int64_t prompts = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  double seconds = 0.0;  // in which it completed prompts
};

/// What results.h5 of a run is made of: /run and /samples.
store::SealRequest generate_request(const SealPlace& place, const GenerateInputs& inputs);

/// Writes results.h5.
///
/// Ranks:  collective over the world. Errors: those of seal().
void seal_completions(RunContext& run, const GenerateInputs& inputs);

/// Numbers and pictures of the sealed file, for the end table, summary.json and report.html.
///
/// Ranks:  collective over the world. Errors: those of read_table().
void show_completions(RunContext& run, const GenerateInputs& inputs,
                      const std::vector<GroupWork>& groups, JobOutcome& outcome);

}  // namespace mgpu::jobs
