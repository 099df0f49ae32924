#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "schedule.hpp"

namespace mgpu::jobs {

/// When a stage begins and ends in a simulated run of an experiment, and on which ranks it runs.
struct SimulatedStage {
  double begin_s = 0.0;
  double end_s = 0.0;
  std::vector<int> members{};  // ascending; empty: the stage does not run
};

/// A function that returns how many seconds a stage takes on the ranks of its assignment.
using SecondsOf = std::function<double(const Assignment& assignment)>;

/// Runs a schedule without doing the work, and returns the times of each stage. `seconds_of` is
/// called when a stage begins, after all stages for which it waits have ended. Stages that the
/// schedule has marked as reused take no time.
///
/// Schedule::free() must have been called for all ranks of `schedule`.
/// Errors: Error if no stage is running and the free ranks can run no ready stage, which is a bug
///         of the caller.
std::vector<SimulatedStage> simulate(Schedule& schedule, const SecondsOf& seconds_of);

/// Lower bounds of the time of an experiment.
struct TimeBound {
  double work_s = 0.0;   // sum of the work of all stages, divided by the number of ranks
  double chain_s = 0.0;  // longest chain of stages, each on its largest number of ranks
  double seconds() const { return work_s > chain_s ? work_s : chain_s; }
};

/// Returns the bounds under the assumption that a stage on n ranks takes `work` / n seconds. `work`
/// has the seconds that each stage takes on one rank. A stage whose StageNeed::sizes is empty adds
/// no time to a chain.
TimeBound time_bound(const std::vector<StageNeed>& stages, const std::vector<double>& work,
                     int ranks);

}  // namespace mgpu::jobs
