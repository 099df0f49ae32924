#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mgpu::run {

/// One file or table that --merge made from an unfinished run, or from the parts of a run.
struct MergedPart {
  std::string what;          // "histories", "training", "evaluation"
  std::int64_t present = 0;  // how many there are, in `unit`
  std::int64_t planned = 0;  // how many a finished run has
  std::string unit;          // "histories", "steps", "episodes"
};

struct MergedRun {
  std::vector<MergedPart> parts;
  std::vector<std::string> warnings;  // damaged checkpoints that were skipped
};

}  // namespace mgpu::run
