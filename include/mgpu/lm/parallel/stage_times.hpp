#pragma once

#include <vector>

namespace mgpu::lm {

/// How a rank of a group spent its time.
struct StageTimes {
  double busy_s = 0.0;
  double waiting_s = 0.0;      // for other ranks
  std::vector<double> passes;  // CPU seconds of this thread's own work, of each pass
};

}  // namespace mgpu::lm
