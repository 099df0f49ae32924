#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/run_context.hpp>

// A run skips rows that have killed a rank repeatedly, see store/journal/quarantine.hpp.
namespace mgpu::run {

struct RowHooks {
  /// Processes `count` rows, beginning with row `first`.
  std::function<void(std::int64_t first, std::int64_t count)> work;
  /// Called instead of `work` for a quarantined row.
  std::function<void(std::int64_t row, const std::string& reason)> leave_out;
};

/// Processes the rows of a chunk in order: all together, or one by one if a rank died while it
/// processed these rows in an earlier attempt. A record on disk names the rows in progress.
///
/// Ranks:  every rank of a model group calls it with the same chunk.
void work_on_rows(RunContext& run, const ChunkPhase& phase, const Chunk& chunk,
                  const RowHooks& hooks);

/// Logs which rows of the phase a rank was processing when it died in an earlier attempt. These
/// rows are now processed one by one. Also logs which rows are quarantined.
void log_suspects(const RunContext& run, const ChunkPhase& phase);

/// Adds to `outcome` the number of quarantined rows of the phase, and a note that says which rows
/// these are, why they were quarantined, and how to try them again.
void add_quarantined(const RunContext& run, const ChunkPhase& phase, JobOutcome& outcome);

}  // namespace mgpu::run
