#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>

namespace mgpu::jobs {

/// Writes the rows of a run of job classify as guide 003 has them in strategy_unified_results.csv,
/// quoted as RFC 4180 says. `response_time` is the time of a row's chunk divided by its rows, in
/// seconds; empty where latency/ does not say. Local. Returns the number of rows.
///
/// Memory: a time per row, and 4096 rows of texts.
/// Errors: those of read_texts(): E605 (exit 65) also for the results of another job, and of
///         output.text=false.
/// Source: guide 003.
std::int64_t export_labels(const std::filesystem::path& results, std::ostream& out);

}  // namespace mgpu::jobs
