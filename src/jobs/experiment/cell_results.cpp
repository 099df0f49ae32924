#include "cell_results.hpp"

#include <algorithm>
#include <cstddef>

#include <mgpu/report/text_format.hpp>

#include "best_reward.hpp"

namespace mgpu::jobs {
namespace {

std::optional<report::Result> find_result(const std::vector<report::Result>& results,
                                          const std::string& key) {
  const auto found = std::ranges::find(results, key, &report::Result::key);
  return found == results.end() ? std::nullopt : std::optional(*found);
}

CellResult result_of(const Cell& cell, const Stage& stage, const StageEnd& end) {
  CellResult result{.values = cell.values, .stage = stage.name};
  result.reward = find_result(end.results, "score");
  if (!result.reward) result.reward = find_result(end.results, "reward");
  result.kl = find_result(end.results, "kl");
  const auto tokens = find_result(end.results, "output_tokens");
  if (tokens && end.done > 0) result.tokens = tokens->value / static_cast<double>(end.done);
  return result;
}

/// Returns a cell of algorithm `baseline` that has a reward. Apart from the algorithm, it has the
/// same values as `cell`, where both have a value (have_no_conflict()). Returns nullptr if there is
/// no such cell.
const CellResult* reference_of(const std::string& baseline, const std::vector<CellResult>& cells,
                               const CellResult& cell) {
  CellValues wanted = cell.values;
  wanted["algorithm"] = baseline;
  for (const CellResult& other : cells)
    if (other.reward && have_no_conflict(wanted, other.values)) return &other;
  return nullptr;
}

/// Sets CellResult::reference and CellResult::best of the cells. `baseline` is experiment.baseline.
void add_best(const std::string& baseline, std::vector<CellResult>& cells) {
  for (CellResult& cell : cells) {
    const CellResult* reference = reference_of(baseline, cells, cell);
    if (reference == nullptr) continue;
    const double right = reference->reward->value;
    if (!(right > 0.0 && right < 1.0)) continue;
    cell.reference = right;
    if (cell.kl) cell.best = best_reward(right, std::max(cell.kl->value * cell.tokens, 0.0));
  }
}

std::string with_interval(const std::optional<report::Result>& result) {
  if (!result) return "";
  const std::string interval = result->interval();
  return report::text_of("%.4f", result->value) + (interval.empty() ? "" : " " + interval);
}

}  // namespace

std::string CellResult::value(const std::string& name) const {
  const auto found = values.find(name);
  return found == values.end() ? "" : found->second;
}

std::vector<CellResult> cell_results(const Matrix& matrix, const StageGraph& graph,
                                     const std::vector<StageRecord>& records) {
  std::vector<CellResult> results;
  if (records.empty()) return results;
  std::vector<StageState> states;
  for (const StageRecord& record : records)
    states.push_back(record.state);
  const CellStates progress(graph);
  for (std::size_t c = 0; c < graph.cells.size(); ++c) {
    const Cell& cell = graph.cells[c];
    results.push_back(result_of(cell, graph.stages[cell.evaluation], records[cell.evaluation].end));
    results.back().state = progress.of(c, states);
  }
  if (!matrix.baseline.empty()) add_best(matrix.baseline, results);
  return results;
}

std::vector<std::vector<std::string>> cell_rows(const std::vector<CellResult>& cells) {
  std::vector<std::vector<std::string>> rows(cells.size() + 1);
  const auto add = [&](const std::string& name, const auto& text) {
    if (std::ranges::all_of(cells, [&](const CellResult& cell) { return text(cell).empty(); }))
      return;
    rows[0].push_back(name);
    for (std::size_t c = 0; c < cells.size(); ++c)
      rows[c + 1].push_back(text(cells[c]));
  };
  for (const std::string axis : kAxes)
    add(axis == "dataset" ? "data set" : axis,
        [&](const CellResult& cell) { return cell.value(axis); });
  add("state", [](const CellResult& cell) {
    return cell.state == CellState::eval_completed ? "" : std::string(name_of(cell.state));
  });
  add("reward", [](const CellResult& cell) { return with_interval(cell.reward); });
  add("KL per token", [](const CellResult& cell) { return with_interval(cell.kl); });
  add("best reward at this KL", [](const CellResult& cell) {
    return cell.best ? report::text_of("%.4f", *cell.best) : std::string();
  });
  return rows;
}

std::string cell_lines(const std::vector<CellResult>& cells) {
  const std::vector<std::vector<std::string>> rows = cell_rows(cells);
  std::string lines;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      std::size_t width = 0;
      for (const std::vector<std::string>& other : rows)
        width = std::max(width, report::width_of(other[column]));
      line += report::pad_right(row[column], width + 2);
    }
    lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return lines;
}

}  // namespace mgpu::jobs
