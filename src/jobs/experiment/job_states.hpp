#pragma once

#include <string>
#include <vector>

#include "cell_states.hpp"
#include "schedule.hpp"
#include "stage_end.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// The state of a stage during and after a run.
struct StageRecord {
  StageState state = StageState::waiting;
  std::vector<int> members{};  // ranks of the world that run the stage
  double begin_s = 0.0;        // seconds since the start of the coordinator
  double end_s = 0.0;
  StageEnd end{};
};

/// Returns the content of job_states.json: the state of every stage and of every cell.
std::string job_states(const StageGraph& graph, const CellStates& cells,
                       const std::vector<StageRecord>& records);

}  // namespace mgpu::jobs
