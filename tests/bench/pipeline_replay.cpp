#include "pipeline_replay.hpp"

#include <algorithm>
#include <numeric>

namespace mgpu::bench {

double replayed_busy_share(const std::vector<std::vector<double>>& seconds, int in_flight) {
  const std::size_t passes = seconds.front().size();
  const auto ahead = static_cast<std::size_t>(in_flight);
  std::vector<double> through(passes, 0.0);        // time when a pass left the last stage
  std::vector<double> free(seconds.size(), 0.0);   // time when a stage has finished the last pass
  std::vector<double> begun(seconds.size(), 0.0);  // time when a stage first had work
  for (std::size_t n = 0; n < passes; ++n) {
    double ready = n < ahead ? 0.0 : through[n - ahead];
    for (std::size_t s = 0; s < seconds.size(); ++s) {
      const double begin = std::max(ready, free[s]);
      if (n == 0) begun[s] = begin;
      free[s] = ready = begin + seconds[s][n];
    }
    through[n] = ready;
  }
  double least = 1.0;
  for (std::size_t s = 0; s < seconds.size(); ++s) {
    const double work = std::accumulate(seconds[s].begin(), seconds[s].end(), 0.0);
    least = std::min(least, work / (free[s] - begun[s]));
  }
  return least;
}

}  // namespace mgpu::bench
