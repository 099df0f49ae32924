#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/run_context.hpp>

// Protection against rows that kill a rank: see store/quarantine.hpp.
namespace mgpu::run {

struct RowHooks {
  /// Processes `count` rows, beginning with row `first`.
  std::function<void(std::int64_t first, std::int64_t count)> work;
  /// Called instead of `work` for a quarantined row.
  std::function<void(std::int64_t row, const std::string& reason)> leave_out;
};

/// Processes the rows of a chunk in order: all together, or one by one if a rank died while it
/// processed some of them. A record on disk names the rows that are being processed.
///
/// Ranks:  every rank of a model group calls it with the same chunk.
void work_on_rows(RunContext& run, const ChunkPhase& phase, const Chunk& chunk,
                  const RowHooks& hooks);

/// Logs the rows of the phase that a rank was processing when it died in an earlier attempt, and
/// how these rows are treated now.
void log_suspects(const RunContext& run, const ChunkPhase& phase);

/// Adds a note and a number to `outcome`: which rows of the phase were quarantined, why, and how to
/// try them again.
void add_quarantined(const RunContext& run, const ChunkPhase& phase, JobOutcome& outcome);

}  // namespace mgpu::run
