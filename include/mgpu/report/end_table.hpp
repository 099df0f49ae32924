#pragma once

#include <string>

#include <mgpu/report/summary.hpp>

namespace mgpu::report {

/// What the screen shows at the end of a run, without the last line: time per phase with its
/// share and spread over ranks, performance, memory in the guides' words, result, NOTEs, and
/// where to look.
std::string end_table(const RunSummary& summary);

/// "GPU Memory Summary:" and a line per GPU, as guide 000 has them; also used while running
/// (log.memory_every). On the CPU one line about host memory. GB means 2^30 bytes, as it does in
/// the tools that print these words.
std::string memory_lines(const RunSummary& summary);

/// "mgpu_spmd: done, exit 0": the last line of every run.
std::string last_line(const RunSummary& summary);

}  // namespace mgpu::report
