#pragma once

#include <filesystem>
#include <optional>

#include <mgpu/data/data_config.hpp>
#include <mgpu/data/environment.hpp>
#include <mgpu/data/history.hpp>
#include <mgpu/jobs/run_context.hpp>
#include <mgpu/jobs/seal_place.hpp>
#include <mgpu/store/seal.hpp>

namespace mgpu::jobs {

/// What histories.h5 of a run is made of.
store::SealRequest histories_request(const SealPlace& place, const data::Environment& environment,
                                     const data::HistoryShape& shape);

/// Whether the file is there and holds all that belongs into it; --merge leaves partial ones.
///
/// Ranks:  collective. Errors: those of store::read_table, on all ranks.
bool is_sealed(const cluster::Group& world, const std::filesystem::path& path);

/// The histories of a file, on every rank.
///
/// Ranks:  collective. Errors: as provide_histories() for data.path.
data::HistorySet read_histories(const cluster::Group& world, const std::filesystem::path& path,
                                const data::Environment& environment);

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
