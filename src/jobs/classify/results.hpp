#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/run/row_phase.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/results/seal.hpp>

#include "inputs.hpp"
#include "page.hpp"

namespace mgpu::jobs {

/// Returns the request with which store::seal() writes results.h5. The file gets the groups /run,
/// /classify and /samples.
store::SealRequest classify_request(const run::SealPlace& place, const ClassifyInputs& inputs);

/// The result of seal_labels(): the data of results.h5 that the charts show, and the result of
/// store::seal().
struct SealedLabels {
  ClassifyPlots plots;
  store::SealResult report;
};

/// Writes results.h5 from the journal. Returns the data that the charts show, and the result of
/// store::seal(). If all rows exist, this function also writes the tables `confusion`, `metrics`,
/// `groups` and, if labels have probabilities, `calibration`. Rows may be missing if
/// `may_lack_rows` is true, or if the run does only one part of the work (--only I/N).
///
/// Ranks:  collective over the world.
/// Errors: those of seal() and read_table().
SealedLabels seal_labels(const cluster::Group& world, const store::ChunkJournal& journal,
                         const run::SealPlace& place, const ClassifyInputs& inputs,
                         bool may_lack_rows = false);

/// Adds metrics and charts to `outcome`. The run makes its end table, summary.json and report.html
/// from `outcome`. `batch` is the batch size of rank 0.
///
/// Ranks:  collective over the world.
void add_label_results(run::RunContext& run, const ClassifyInputs& inputs, ClassifyPlots plots,
                       const std::vector<run::GroupWork>& groups, std::int64_t batch,
                       run::JobOutcome& outcome);

}  // namespace mgpu::jobs
