#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/run_context.hpp>

// Protection against rows that kill a rank: see store/quarantine.hpp.
namespace mgpu::run {

struct RowHooks {
  /// Processes `count` rows, beginning with `first`.
  std::function<void(std::int64_t first, std::int64_t count)> work;
  /// Called instead of work() for a quarantined row.
  std::function<void(std::int64_t row, const std::string& reason)> leave_out;
};

/// Processes the rows of a chunk in order: all of them together, or one by one if a rank has died
/// while it processed some of these rows. A record on disk names the rows that are being processed.
///
/// Ranks:  all ranks of a model group do the same.
void work_on_rows(RunContext& run, const ChunkPhase& phase, const Chunk& chunk,
                  const RowHooks& hooks);

/// Reports the rows of the phase during which a rank died, and how they are treated.
void log_suspects(const RunContext& run, const ChunkPhase& phase);

/// Adds a note and a number to `outcome`: which rows were quarantined, why, and how to try them
/// again.
void add_quarantined(const RunContext& run, const ChunkPhase& phase, JobOutcome& outcome);

}  // namespace mgpu::run
