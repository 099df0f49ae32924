#pragma once

#include <cstddef>
#include <vector>

#include "stages.hpp"

namespace mgpu::jobs {

/// The progress of a cell, which is one evaluation of an algorithm. The stages of a cell are its
/// evaluation, and all stages for which the evaluation waits, directly or not. If several states
/// apply, the last one in this list counts.
enum class CellState {
  not_started,
  data_generated,  // the evaluation waits for stages that train no model, and all of these
                   // stages are done
  model_trained,   // the evaluation waits for stages, and all of these stages are done
  eval_completed,  // the evaluation is done
  failed,          // a stage of the cell failed or was left out
};

/// Returns the name of a state in job_states.json, such as "EVAL_COMPLETED".
const char* name_of(CellState state);

/// Returns the indices of all stages that stage `stage` waits for, directly or not, ascending.
std::vector<std::size_t> all_before(const std::vector<Stage>& stages, std::size_t stage);

/// Computes the states of an experiment's cells from the states of its stages.
class CellStates {
public:
  explicit CellStates(const StageGraph& graph);

  /// Returns the state of the cell with index `cell`. `states` contains the state of each stage.
  CellState of(std::size_t cell, const std::vector<StageState>& states) const;

private:
  const StageGraph& graph_;
  std::vector<std::vector<std::size_t>> before_{};  // all_before() of the evaluation of each cell
  std::vector<bool> draws_{};                       // by stage: true if it trains no model
};

}  // namespace mgpu::jobs
