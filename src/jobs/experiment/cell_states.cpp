#include "cell_states.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <mgpu/jobs/job.hpp>

namespace mgpu::jobs {
namespace {

bool is_done(StageState state) {
  return state == StageState::done || state == StageState::reused;
}

bool has_failed(StageState state) {
  return state == StageState::failed || state == StageState::left_out;
}

}  // namespace

std::vector<std::size_t> all_before(const std::vector<Stage>& stages, std::size_t stage) {
  std::set<std::size_t> found;
  std::vector<std::size_t> open{stage};
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    for (const std::size_t before : stages[next].after)
      if (found.insert(before).second) open.push_back(before);
  }
  return {found.begin(), found.end()};
}

const char* name_of(CellState state) {
  constexpr std::array kNames = {"NOT_STARTED", "DATA_GENERATED", "MODEL_TRAINED", "EVAL_COMPLETED",
                                 "FAILED"};
  return kNames.at(static_cast<std::size_t>(state));
}

CellStates::CellStates(const StageGraph& graph) : graph_(graph) {
  for (const Cell& cell : graph.cells)
    before_.push_back(all_before(graph.stages, cell.evaluation));
  for (const Stage& stage : graph.stages)
    draws_.push_back(job_of(stage.config).model_files == nullptr);
}

CellState CellStates::of(std::size_t cell, const std::vector<StageState>& states) const {
  const StageState evaluation = states[graph_.cells[cell].evaluation];
  const std::vector<std::size_t>& before = before_[cell];
  const auto fails = [&](std::size_t stage) { return has_failed(states[stage]); };
  const auto is_over = [&](std::size_t stage) { return is_done(states[stage]); };
  const auto draws = [&](std::size_t stage) { return draws_[stage]; };
  if (is_done(evaluation)) return CellState::eval_completed;
  if (has_failed(evaluation) || std::ranges::any_of(before, fails)) return CellState::failed;
  if (before.empty()) return CellState::not_started;
  if (std::ranges::all_of(before, is_over)) return CellState::model_trained;
  const bool has_data =
      std::ranges::any_of(before, draws) && std::ranges::all_of(before, [&](std::size_t stage) {
        return !draws(stage) || is_over(stage);
      });
  return has_data ? CellState::data_generated : CellState::not_started;
}

}  // namespace mgpu::jobs
