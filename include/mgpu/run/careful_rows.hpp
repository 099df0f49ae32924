#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/run_context.hpp>

// Rows that a rank may die of: see store/quarantine.hpp.
namespace mgpu::run {

struct RowHooks {
  /// Works on `count` rows from `first` on.
  std::function<void(std::int64_t first, std::int64_t count)> work;
  /// Instead of work() for a quarantined row.
  std::function<void(std::int64_t row, const std::string& reason)> leave_out;
};

/// Goes through the rows of a chunk in their order: all at once, or one by one where a rank has
/// died with some of them. What they are is on record while they are worked on.
///
/// Ranks:  those of a model group do the same.
void work_on_rows(RunContext& run, const ChunkPhase& phase, const Chunk& chunk,
                  const RowHooks& hooks);

/// Says which rows of the phase a rank has died with, and what becomes of them.
void tell_suspects(const RunContext& run, const ChunkPhase& phase);

/// Puts into `outcome`, as a note and a number, which rows were quarantined, why, and how they are
/// tried again.
void show_quarantined(const RunContext& run, const ChunkPhase& phase, JobOutcome& outcome);

}  // namespace mgpu::run
