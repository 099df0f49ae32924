#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <mgpu/run/row_phase.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/results/seal.hpp>

#include "evaluation.hpp"
#include "inputs.hpp"

namespace mgpu::jobs {

/// Returns the request with which seal() writes results.h5. The file gets the groups /run and
/// /samples.
store::SealRequest generate_request(const run::SealPlace& place, const GenerateInputs& inputs);

/// The result of seal_completions().
struct SealedCompletions {
  store::SealResult report{};
  std::optional<Evaluation> evaluation{};  // result of evaluate_journal()
};

/// Evaluates the completions in the journal, and writes results.h5. Rows may be missing if
/// `may_lack_rows` is true, or if the run does only one part of the work (--only I/N). A file that
/// lacks rows has the status "partial".
///
/// Ranks:  collective over the world.
/// Errors: those of evaluate_journal() and seal().
SealedCompletions seal_completions(const cluster::Group& world, const store::ChunkJournal& journal,
                                   const run::SealPlace& place, const GenerateInputs& inputs,
                                   bool may_lack_rows = false);

/// Reads results.h5, and adds numbers and charts to `outcome`, from which the end table,
/// summary.json and report.html are made. `evaluation` comes from seal_completions().
///
/// Ranks:  collective over the world.
/// Errors: those of read_table().
void add_completion_results(run::RunContext& run, const GenerateInputs& inputs,
                            const std::optional<Evaluation>& evaluation,
                            const std::vector<run::GroupWork>& groups, run::JobOutcome& outcome);

}  // namespace mgpu::jobs
