#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/results/seal.hpp>

#include "inputs.hpp"

namespace mgpu::jobs {

/// What a group of ranks did in this attempt.
struct GroupWork {
  std::int64_t prompts = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  double seconds = 0.0;  // in which it completed prompts
};

/// What results.h5 of a run is made of: /run and /samples.
store::SealRequest generate_request(const run::SealPlace& place, const GenerateInputs& inputs);

/// Writes results.h5.
///
/// Ranks:  collective over the world. Errors: those of seal().
void seal_completions(run::RunContext& run, const GenerateInputs& inputs);

/// Numbers and pictures of the sealed file, for the end table, summary.json and report.html.
///
/// Ranks:  collective over the world. Errors: those of read_table().
void show_completions(run::RunContext& run, const GenerateInputs& inputs,
                      const std::vector<GroupWork>& groups, run::JobOutcome& outcome);

}  // namespace mgpu::jobs
