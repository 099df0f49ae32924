#include "plan_simulation.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include <mgpu/base/error.hpp>

namespace mgpu::jobs {
namespace {

/// Computes the earliest possible end of a stage. This is the end of the longest chain of stages
/// that leads to the stage, if each stage has its largest number of ranks. Keeps the computed ends
/// for later calls.
class LongestChains {
public:
  LongestChains(const std::vector<StageNeed>& stages, const std::vector<double>& work)
      : stages_(stages), work_(work), ends_(stages.size(), kUnknown) {}

  double end_of(std::size_t stage) {
    // A stage stays in `open` until the ends of all stages for which it waits are known.
    std::vector<std::size_t> open{stage};
    while (!open.empty()) {
      const std::size_t next = open.back();
      double begin = 0.0;
      for (const std::size_t before : stages_[next].after) {
        if (ends_[before] == kUnknown) open.push_back(before);
        begin = std::max(begin, ends_[before]);
      }
      if (open.back() != next) continue;
      open.pop_back();
      ends_[next] = begin + least_seconds(next);
    }
    return ends_[stage];
  }

private:
  static constexpr double kUnknown = -1.0;

  double least_seconds(std::size_t stage) const {
    const std::vector<int>& sizes = stages_[stage].sizes;
    return sizes.empty() ? 0.0 : work_[stage] / sizes.back();
  }

  const std::vector<StageNeed>& stages_;
  const std::vector<double>& work_;
  std::vector<double> ends_;
};

}  // namespace

std::vector<SimulatedStage> simulate(Schedule& schedule, const SecondsOf& seconds_of) {
  using End = std::pair<double, std::size_t>;  // time and stage
  std::vector<SimulatedStage> stages(schedule.size());
  std::priority_queue<End, std::vector<End>, std::greater<>> running;
  double now = 0.0;
  while (!schedule.is_over()) {
    while (auto assignment = schedule.next()) {
      const double end = now + seconds_of(*assignment);
      running.emplace(end, assignment->stage);
      stages[assignment->stage] = {now, end, std::move(assignment->members)};
    }
    if (running.empty()) throw Error("no ranks can run a stage");
    const auto [end, stage] = running.top();
    running.pop();
    now = end;
    schedule.end(stage, StageState::done);
    for (const int rank : stages[stage].members)
      schedule.free(rank);
  }
  return stages;
}

TimeBound time_bound(const std::vector<StageNeed>& stages, const std::vector<double>& work,
                     int ranks) {
  TimeBound bound;
  LongestChains chains(stages, work);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    bound.chain_s = std::max(bound.chain_s, chains.end_of(s));
    bound.work_s += work[s] / ranks;
  }
  return bound;
}

}  // namespace mgpu::jobs
