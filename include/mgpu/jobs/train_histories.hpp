#pragma once

#include <optional>

#include <mgpu/data/data_config.hpp>
#include <mgpu/data/environment.hpp>
#include <mgpu/data/history.hpp>
#include <mgpu/jobs/run_context.hpp>

namespace mgpu::jobs {

/// The learning histories of the run, on every rank: read from data.path, or played by all ranks
/// in chunks and sealed into histories.h5 of the run directory. Nothing when a stop was asked
/// for before they were complete.
///
/// Ranks:  collective over the world.
/// Errors: Failure of the file (E603 missing, E605 not such a table, E521 of another
///         environment), of the journal and of the seal, on all ranks.
std::optional<data::HistorySet> provide_histories(RunContext& run, const data::DataConfig& config,
                                                  const data::Environment& environment);

}  // namespace mgpu::jobs
