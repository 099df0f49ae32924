#pragma once

#include <vector>

namespace mgpu::lm {

/// How much time a rank of a group has spent working and waiting, in seconds.
struct StageTimes {
  double busy_s = 0.0;
  double waiting_s = 0.0;      // time spent waiting for other ranks
  std::vector<double> passes;  // CPU seconds of the calling thread in each pass, without waiting
};

}  // namespace mgpu::lm
