#pragma once

#include <string>

#include <mgpu/report/summary.hpp>

namespace mgpu::report {

/// The table at the end of a run, without the last line. It has the time per phase with its share
/// and spread over ranks, performance, memory, result, NOTEs, and the output files.
std::string end_table(const RunSummary& summary);

/// "GPU Memory Summary:" and a line per GPU, or one line about host memory on the CPU. Also printed
/// during the run (log.memory_every). GB means 2^30 bytes, as in other tools that print these
/// words.
std::string memory_lines(const RunSummary& summary);

/// "mgpu_spmd: done, exit 0": the last line of every run.
std::string last_line(const RunSummary& summary);

}  // namespace mgpu::report
