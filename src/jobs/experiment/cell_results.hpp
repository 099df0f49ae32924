#pragma once

#include <optional>
#include <string>
#include <vector>

#include <mgpu/report/summary.hpp>
#include <mgpu/store/results/small_table.hpp>

#include "cell_states.hpp"
#include "coordinator.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// A completion that the evaluation of a cell generated, and its prompt.
struct CellAnswer {
  std::string prompt;
  std::string output;
};

/// The results of a cell. A cell is one evaluation of an algorithm (see Cell in stages.hpp).
struct CellResult {
  CellValues values;
  std::string stage;  // name of the stage that evaluates the cell
  CellState state = CellState::not_started;
  std::optional<report::Result> reward{};  // the stage's result with key `score`; without such a
                                           // result, the one with key `reward`
  std::optional<report::Result> kl{};      // KL(policy || reference policy) per token, in nats
  double tokens = 0.0;                     // mean number of tokens of a completion
  /// Reward of a cell of the baseline (algorithm experiment.baseline). Apart from the algorithm,
  /// that cell has the same values as this cell, where both have a value (have_no_conflict()). Set
  /// only if this reward is above 0 and below 1.
  std::optional<double> reference{};
  /// Result of best_reward() for `reference` and the KL of a whole completion (`kl` times
  /// `tokens`). Set only if `reference` and `kl` are set.
  std::optional<double> best{};
  std::vector<CellAnswer> answers{};  // set by read_answers()

  /// Returns the cell's value of `name`, which is one of kAxes. Returns "" if `values` has no value
  /// of `name`.
  std::string value(const std::string& name) const;
};

/// Returns the results of all cells, in the order of `graph.cells`. Returns an empty list if
/// `records` is empty.
std::vector<CellResult> cell_results(const Matrix& matrix, const StageGraph& graph,
                                     const std::vector<StageRecord>& records);

/// Returns a row of column names, and then a row for each cell. The columns are the cell's values,
/// the state, the reward and the KL with their intervals, and the best reward. State eval_completed
/// is shown as "". A column that is "" for all cells is left out.
std::vector<std::vector<std::string>> cell_rows(const std::vector<CellResult>& cells);

/// Formats cell_rows() as aligned lines.
std::string cell_lines(const std::vector<CellResult>& cells);

/// Returns the table `cells` of results.h5, with one row for each cell.
store::SmallTable cell_table(const std::vector<CellResult>& cells);

}  // namespace mgpu::jobs
