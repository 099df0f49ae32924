#pragma once

#include <cstdint>
#include <functional>

#include <mgpu/formats/line_problems.hpp>
#include <mgpu/input/row_file.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/run_context.hpp>

namespace mgpu::rows {

/// Tokenizes `count` rows from row `first` on. Returns the length of the longest one in tokens, and
/// adds the rows that cannot be used to `problems`.
using RowsTokenizer = std::function<std::int64_t(std::int64_t first, std::int64_t count,
                                                 formats::LineProblems& problems)>;

/// Tokenizes the rows of `file` that have no result from an earlier attempt, before the model runs.
/// The ranks share the chunks of `phase`; quarantined rows are skipped.
/// Returns: the length of the longest row of all ranks, in tokens; 0 without rows.
/// Errors:  Failure E531 on all ranks if rows cannot be used; it shows the first five.
/// Ranks:   collective over the world group.
std::int64_t tokenize_pending(run::RunContext& run, const run::ChunkPhase& phase,
                              const fs::path& file, const RowsTokenizer& tokenize);

}  // namespace mgpu::rows
