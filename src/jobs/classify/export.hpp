#pragma once

#include <cstdint>

#include <mgpu/run/export_format.hpp>

namespace mgpu::jobs {

/// Writes the rows of a run of job classify as CSV, quoted as in RFC 4180, and returns the number
/// of rows. Column `response_time` is the time of a row's chunk in seconds, divided by the number
/// of rows of the chunk. Its cell is empty if folder latency/ has no time for the row.
///
/// Ranks:  local.
/// Memory: the numbers of all rows, and the texts of 4096 rows.
/// Errors: E605 (exit 65) for a file without the text columns, as with output.text=false; E602 if
///         the CSV cannot be written; those of read_table() and TextColumn.
std::int64_t export_labels(const run::ExportRequest& request);

}  // namespace mgpu::jobs
