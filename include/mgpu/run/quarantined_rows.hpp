#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/run_context.hpp>

// A run skips rows that have killed a rank twice, see store/journal/quarantine.hpp.
namespace mgpu::run {

struct RowHooks {
  /// Processes `count` rows, beginning with row `first`.
  std::function<void(std::int64_t first, std::int64_t count)> work;
  /// Called instead of `work` for a quarantined row.
  std::function<void(std::int64_t row, const std::string& reason)> leave_out;
};

/// Processes the rows of a chunk in order. The rows are processed one by one if a rank died in an
/// earlier attempt while it processed rows of this chunk, otherwise all together. A record on disk
/// (Quarantine::begin()) names the rows in progress, for the next attempt in case this rank dies.
///
/// Ranks:  every rank of a model group calls it with the same chunk.
void work_on_rows(RunContext& run, const ChunkPhase& phase, const Chunk& chunk,
                  const RowHooks& hooks);

/// Logs each death of a rank in an earlier attempt, if the rank was processing several rows of the
/// phase together. The log line names these rows, which are now processed one by one. Also logs
/// which rows are quarantined.
void log_suspects(const RunContext& run, const ChunkPhase& phase);

/// Adds to `outcome` the number of quarantined rows of the phase, and a note with these rows, the
/// reasons, and the way to try the rows again.
void add_quarantined(const RunContext& run, const ChunkPhase& phase, JobOutcome& outcome);

}  // namespace mgpu::run
