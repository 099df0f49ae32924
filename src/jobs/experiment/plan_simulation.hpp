#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "schedule.hpp"

namespace mgpu::jobs {

/// When a stage runs in a simulated run, and on which ranks.
struct SimulatedStage {
  double begin_s = 0.0;
  double end_s = 0.0;
  std::vector<int> members{};  // ascending; empty: the stage does not run
};

/// Returns how many seconds a stage takes on the ranks of its assignment.
using SecondsOf = std::function<double(const Assignment& assignment)>;

/// Runs a schedule without doing the work, and returns the times of each stage. `seconds_of` is
/// called when a stage begins, so all stages before it have ended. Stages that the schedule has
/// marked as reused take no time.
///
/// `schedule`: a schedule with all its ranks free.
/// Errors: Error if no ranks can run a stage, which is a bug of the caller.
std::vector<SimulatedStage> simulate(Schedule& schedule, const SecondsOf& seconds_of);

/// Lower bounds of the time of an experiment.
struct TimeBound {
  double work_s = 0.0;   // all work divided by all ranks
  double chain_s = 0.0;  // longest chain of stages, each on the most ranks that it accepts
  double seconds() const { return work_s > chain_s ? work_s : chain_s; }
};

/// Returns the bounds under the assumption that a stage on n ranks takes work / n seconds.
/// `work`: of each stage, in seconds on one rank. If StageNeed::sizes is empty, the stage adds no
/// time to a chain.
TimeBound time_bound(const std::vector<StageNeed>& stages, const std::vector<double>& work,
                     int ranks);

}  // namespace mgpu::jobs
