#pragma once

#include <cstdint>

#include <mgpu/run/export_format.hpp>

namespace mgpu::jobs {

/// Writes the rows of a run of job classify as CSV, quoted as in RFC 4180. Column `response_time`
/// is the time of a row's chunk divided by its number of rows, in seconds. It is empty if the
/// folder latency/ does not contain it. Returns the number of rows. Local.
///
/// Memory: one time for each row, and the texts of 4096 rows.
/// Errors: those of read_texts(), which throws E605 (exit 65) also for results of
///         output.text=false; E602.
std::int64_t export_labels(const run::ExportRequest& request);

}  // namespace mgpu::jobs
