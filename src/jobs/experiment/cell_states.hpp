#pragma once

#include <cstddef>
#include <vector>

#include "stages.hpp"

namespace mgpu::jobs {

/// The progress of a cell. Its stages are its evaluation and all stages for which that waits.
enum class CellState {
  not_started,
  data_generated,  // all stages before the evaluation that make data are done (at least one)
  model_trained,   // all stages before the evaluation are done (at least one)
  eval_completed,  // its evaluation is done
  failed,          // one of its stages failed or was left out
};

/// Returns the name of a state in job_states.json: "EVAL_COMPLETED".
const char* name_of(CellState state);

/// Returns all stages that a stage waits for, directly or not, ascending.
std::vector<std::size_t> all_before(const std::vector<Stage>& stages, std::size_t stage);

/// Computes the states of an experiment's cells from the states of its stages.
class CellStates {
public:
  explicit CellStates(const StageGraph& graph);

  /// Returns the state of the cell with index `cell`. `states` has the state of each stage.
  CellState of(std::size_t cell, const std::vector<StageState>& states) const;

private:
  const StageGraph& graph_;
  std::vector<std::vector<std::size_t>> before_{};  // all stages before the evaluation of each cell
  std::vector<bool> draws_{};                       // for each stage: false if its job is train
};

}  // namespace mgpu::jobs
