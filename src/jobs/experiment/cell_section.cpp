#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cell_answers.hpp"
#include "page.hpp"

namespace mgpu::jobs {
namespace {

/// Returns one list of cells for each pair of data set and model.
std::vector<std::vector<CellResult>> by_column(const std::vector<CellResult>& cells) {
  std::vector<std::vector<CellResult>> columns;
  for (const CellResult& cell : cells) {
    const auto known = std::ranges::find_if(columns, [&](const std::vector<CellResult>& column) {
      return column_of(column.front()) == column_of(cell);
    });
    if (known != columns.end()) {
      known->push_back(cell);
    } else {
      columns.push_back({cell});
    }
  }
  return columns;
}

}  // namespace

std::string column_of(const CellResult& cell) {
  const std::string dataset = cell.value("dataset");
  const std::string model = cell.value("model");
  return dataset + (dataset.empty() || model.empty() ? "" : ", ") + model;
}

std::string row_of(const CellResult& cell) {
  std::string name = cell.value("algorithm");
  if (const std::string round = cell.value("round"); !round.empty()) name += ", round " + round;
  if (const std::string eta = cell.value("eta"); !eta.empty()) name += ", eta " + eta;
  return name;
}

report::Section cell_section(const std::vector<CellResult>& cells) {
  report::Section section{"Algorithms", {}};
  const std::string rewards = svg_rewards(cells);
  if (!rewards.empty())
    section.figures.push_back(
        {"Reward of each algorithm", rewards,
         "Mean reward on the prompts of the evaluation, and below it the 95 % "
         "interval over prompts. A stronger color is a larger reward."});
  for (const std::vector<CellResult>& column : by_column(cells)) {
    const std::string chart = svg_reward_by_kl(column);
    const std::string name = column_of(column.front());
    if (!chart.empty())
      section.figures.push_back(
          {"Reward and KL" + (name.empty() ? "" : ", " + name), chart,
           "Mean reward against the mean KL per token from the reference, with a point for each "
           "evaluation. The dashed curve is the best reward at a KL. It holds for rewards of 0 or "
           "1, if the reference has the same mean reward for every prompt."});
  }
  std::vector<std::vector<std::string>> rows = cell_rows(cells);
  report::Table table{"Cells", rows.front(), {rows.begin() + 1, rows.end()}};
  table.is_text = true;
  table.is_stacked = true;
  section.tables.push_back(std::move(table));
  report::Table answers = answer_table(cells);
  if (!answers.rows.empty()) section.tables.push_back(std::move(answers));
  return section;
}

}  // namespace mgpu::jobs
