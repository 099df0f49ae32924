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

/// Calls `tokenize` for the rows that have no result from an earlier attempt. So unusable rows are
/// found before the model runs. The ranks divide the pending chunks of `phase` among themselves.
/// Quarantined rows are skipped. Messages name `file` as the file of the rows. Returns the length
/// of the longest row of all ranks, in tokens; 0 if `tokenize` was not called for any row.
///
/// Ranks:  collective over the world.
/// Errors: Failure E531 (exit 65) on all ranks if rows cannot be used; the message shows the first
///         five. The other failures of `tokenize`, on all ranks.
std::int64_t tokenize_pending(run::RunContext& run, const run::ChunkPhase& phase,
                              const fs::path& file, const RowsTokenizer& tokenize);

}  // namespace mgpu::rows
