#include "absent_ranks.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

namespace mgpu::app {
namespace {

/// Returns for each rank whether it has written a crash file since `waiting.started`.
std::vector<bool> ranks_that_wait(std::size_t ranks, const Waiting& waiting) {
  std::vector<bool> waits(ranks, false);
  const std::chrono::duration<double> born = waiting.started.time_since_epoch();
  for (const CrashReport& crash : crashes(waiting.crash.path().parent_path(), born.count())) {
    if (static_cast<std::size_t>(crash.rank) < ranks)
      waits[static_cast<std::size_t>(crash.rank)] = true;
  }
  return waits;
}

}  // namespace

ErrorReport name_absent_ranks(ErrorReport report, const cluster::Topology& topology,
                              const Waiting& waiting) {
  const std::chrono::duration<double> patience(std::clamp(0.05 * waiting.timeout_s, 1.0, 15.0));
  std::this_thread::sleep_for(patience);
  const std::vector<bool> waits = ranks_that_wait(topology.places().size(), waiting);
  const auto speaker = std::find(waits.begin(), waits.end(), true) - waits.begin();
  if (speaker != topology.world().rank()) std::this_thread::sleep_for(2 * patience);
  for (std::size_t rank = 0; rank < waits.size(); ++rank) {
    if (waits[rank]) continue;
    report.lines.push_back("  rank " + std::to_string(rank) + " (" + topology.places()[rank].host +
                           ") did not come");
  }
  return report;
}

}  // namespace mgpu::app
