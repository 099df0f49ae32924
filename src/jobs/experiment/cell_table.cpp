#include <limits>
#include <string>
#include <vector>

#include "cell_results.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

double value_or_none(const std::optional<report::Result>& result) {
  return result ? result->value : kNoNumber;
}

double end_or_none(const std::optional<report::Result>& result, double Estimate::*end) {
  return result && result->estimate ? (*result->estimate).*end : kNoNumber;
}

template <class Get>
std::vector<double> numbers(const std::vector<CellResult>& cells, Get get) {
  std::vector<double> values;
  for (const CellResult& cell : cells)
    values.push_back(get(cell));
  return values;
}

}  // namespace

store::SmallTable cell_table(const std::vector<CellResult>& cells) {
  std::vector<store::SmallColumn> columns;
  const auto add_texts = [&](const std::string& name, const std::string& text, const auto& get) {
    std::vector<std::string> values;
    for (const CellResult& cell : cells)
      values.push_back(get(cell));
    columns.push_back({name, values, text});
  };
  for (const std::string axis : kAxes)
    add_texts(axis, axis + " of the cell; empty if its evaluation does not depend on it",
              [&](const CellResult& cell) { return cell.value(axis); });
  add_texts("stage", "stage that evaluated the cell",
            [](const CellResult& cell) { return cell.stage; });
  add_texts("state", "EVAL_COMPLETED, or how far the cell came",
            [](const CellResult& cell) { return std::string(name_of(cell.state)); });
  const auto add = [&](const char* name, const char* text, const char* units, const auto& get) {
    columns.push_back({name, numbers(cells, get), text, units});
  };
  add("reward", "mean score of the data set, otherwise mean reward", "",
      [](const CellResult& cell) { return value_or_none(cell.reward); });
  add("reward_low", "lower end of its 95 % interval", "",
      [](const CellResult& cell) { return end_or_none(cell.reward, &Estimate::low); });
  add("reward_high", "upper end of its 95 % interval", "",
      [](const CellResult& cell) { return end_or_none(cell.reward, &Estimate::high); });
  add("kl", "mean KL per token from the reference", "nats",
      [](const CellResult& cell) { return value_or_none(cell.kl); });
  add("kl_low", "lower end of its 95 % interval", "nats",
      [](const CellResult& cell) { return end_or_none(cell.kl, &Estimate::low); });
  add("kl_high", "upper end of its 95 % interval", "nats",
      [](const CellResult& cell) { return end_or_none(cell.kl, &Estimate::high); });
  add("best_reward", "largest reward of 0 or 1 that is possible at this KL", "",
      [](const CellResult& cell) { return cell.best.value_or(kNoNumber); });
  return store::make_small_table("cells", columns);
}

}  // namespace mgpu::jobs
