#pragma once

#include <vector>

namespace mgpu::language {

/// How a rank of a group spent its time.
struct StageTimes {
  double busy_s = 0.0;
  double waiting_s = 0.0;      // for other ranks
  std::vector<double> passes;  // CPU seconds of this thread's own work, of each pass

  double busy_share() const { return busy_s / (busy_s + waiting_s); }
};

/// The smallest share of time that a stage of a pipeline works when passes took these times and
/// `in_flight` of them are on their way at once; pass n + in_flight begins when n is through.
///
/// Shapes: seconds [stages][passes]
double replayed_busy_share(const std::vector<std::vector<double>>& seconds, int in_flight);

}  // namespace mgpu::language
