#pragma once

#include <vector>

namespace mgpu::bench {

/// The smallest share of time that a stage of a pipeline works when passes took these times and
/// `in_flight` of them are on their way at once; pass n + in_flight begins when n is through.
///
/// Shapes: seconds [stages][passes]
double replayed_busy_share(const std::vector<std::vector<double>>& seconds, int in_flight);

}  // namespace mgpu::bench
