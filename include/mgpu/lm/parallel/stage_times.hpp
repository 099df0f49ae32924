#pragma once

#include <vector>

namespace mgpu::lm {

/// How long a rank of a model's group has worked and waited, in seconds.
struct StageTimes {
  double busy_s = 0.0;
  double waiting_s = 0.0;      // time spent waiting for other ranks of the group
  std::vector<double> passes;  // CPU time of each pass in the thread that runs it, without waiting;
                               // with tensor parallelism, only rank 0 of the group has values
};

}  // namespace mgpu::lm
