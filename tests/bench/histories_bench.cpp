// Measures environment steps per CPU-second of the explorer in Darkroom, on one core. Usage:
// histories_bench [seconds]. Prints one line of JSON.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <vector>

#include <mgpu/ad/source.hpp>

namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mgpu::ad;
  const double at_least_s = argc > 1 ? std::atof(argv[1]) : 1.0;
  const auto room = make_environment("darkroom", 0);
  const auto source = make_source("explorer", *room, {});
  HistorySet histories(*room, {.streams = 60, .episodes = 8, .horizon = room->horizon()});
  play_all(*source, histories);  // warm-up

  std::size_t steps = 0;
  const double begin_s = cpu_seconds();
  double used_s = 0.0;
  while (used_s < at_least_s) {
    play_all(*source, histories);
    steps += histories.action().size();
    used_s = cpu_seconds() - begin_s;
  }

  const std::vector<double> returns = mean_returns(histories);
  std::printf(
      "{\"name\": \"explorer histories\", \"value\": %.4g, \"unit\": \"env steps/CPU-s\", "
      "\"check\": %.3f}\n",
      static_cast<double>(steps) / used_s,
      std::accumulate(returns.begin(), returns.end(), 0.0) / static_cast<double>(returns.size()));
}
