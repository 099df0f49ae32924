#pragma once

#include <string>

#include <mgpu/report/summary.hpp>

namespace mgpu::report {

/// Formats the end table of a run, without last_line(). It shows the time of each phase with its
/// share of the run and its spread over ranks. Performance, skipped steps, memory, the result,
/// NOTEs and the output files follow.
std::string end_table(const RunSummary& summary);

/// Formats "GPU Memory Summary:" and a line for the GPU of each rank. The line of rank 3 begins
/// with "GPU 3", whatever the index of its GPU is. On the CPU, formats "Host Memory Summary:" and
/// one line. Returns "" if no memory was measured. With log.memory_every, a run also prints these
/// lines before its end. GB means 2^30 bytes.
std::string memory_lines(const RunSummary& summary);

/// Returns the lines that a run with -q prints above its last line: the result of the run if it has
/// one, and `folder`, the run directory.
std::string quiet_lines(const RunSummary& summary, const std::string& folder);

/// Returns the last line of every run, such as "mgpu_spmd: done, exit 0".
std::string last_line(const RunSummary& summary);

}  // namespace mgpu::report
