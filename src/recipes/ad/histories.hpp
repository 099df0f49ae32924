#pragma once

#include <filesystem>
#include <optional>

#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/history.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/results/seal.hpp>

#include "settings.hpp"

namespace mgpu::recipes {

inline constexpr const char* kHistoriesFile = "histories.h5";  // in the run directory

/// Returns the request with which store::seal() writes histories.h5 of a run from its journal.
store::SealRequest histories_request(const run::SealPlace& place, const AdSettings& settings,
                                     const ad::Environment& environment);

/// Returns whether the file `path` exists on all ranks and has all histories. A file that --merge
/// wrote may lack some histories.
///
/// Ranks:  collective over `world`.
/// Errors: those of store::read_table, on all ranks.
bool is_sealed(const cluster::Group& world, const std::filesystem::path& path);

/// Reads the histories of the file `path` on every rank.
///
/// Ranks:  collective over `world`.
/// Errors: on all ranks: Failure E603 if the file is missing, E604 if it is damaged, E605 if it has
///         no table of histories. Failure E521 if its histories are incomplete or do not fit the
///         environment.
ad::HistorySet read_histories(const cluster::Group& world, const std::filesystem::path& path,
                              const ad::Environment& environment);

/// Returns the learning histories of the run, on every rank. Reads them from data.path. If
/// data.path is null, the ranks play the histories in chunks and write them to histories.h5 in the
/// run directory. Returns nullopt if a stop was requested before all histories were complete.
///
/// Ranks:  collective over the world.
/// Errors: those of read_histories(), of the journal and of seal(), on all ranks.
std::optional<ad::HistorySet> provide_histories(run::RunContext& run, const AdSettings& settings,
                                                const ad::Environment& environment);

}  // namespace mgpu::recipes
