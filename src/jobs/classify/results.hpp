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

/// What results.h5 of a run begins with: /run, /classify and /samples.
store::SealRequest classify_request(const run::SealPlace& place, const ClassifyInputs& inputs);

/// What the rows in results.h5 say, and how many there are.
struct SealedLabels {
  ClassifyPictures pictures;
  store::SealReport report;
};

/// Writes results.h5: the rows, and beside them tables `confusion`, `metrics`, `groups` and
/// `calibration` that are computed of all of them, which a file without all rows has not.
/// `may_lack_rows`: that is no error; in a part of a run it never is.
///
/// Ranks:  collective over the world. Errors: those of seal() and read_table().
SealedLabels seal_labels(const cluster::Group& world, const store::ChunkJournal& journal,
                         const run::SealPlace& place, const ClassifyInputs& inputs,
                         bool may_lack_rows = false);

/// Numbers and pictures for the end table, summary.json and report.html. `batch` is what rank 0
/// had in its model at once.
///
/// Ranks:  collective over the world.
void show_labels(run::RunContext& run, const ClassifyInputs& inputs, ClassifyPictures pictures,
                 const std::vector<run::GroupWork>& groups, std::int64_t batch,
                 run::JobOutcome& outcome);

}  // namespace mgpu::jobs
