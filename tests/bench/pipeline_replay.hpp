#pragma once

#include <vector>

namespace mgpu::bench {

/// Returns the share of time in which a stage of a pipeline works, for the stage with the smallest
/// share. `seconds` has the time of each pass on each stage. At most `in_flight` passes run at
/// once: pass n + in_flight begins after the end of pass n.
///
/// Shapes: seconds [stages][passes]
double replayed_busy_share(const std::vector<std::vector<double>>& seconds, int in_flight);

}  // namespace mgpu::bench
