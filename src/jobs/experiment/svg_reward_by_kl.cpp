#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include <mgpu/report/svg_chart.hpp>

#include "best_reward.hpp"
#include "page.hpp"

namespace mgpu::jobs {
namespace {

/// Returns the cells that have both a reward and a KL, in ascending order of CellResult::kl.
std::vector<const CellResult*> with_kl(const std::vector<CellResult>& cells) {
  std::vector<const CellResult*> found;
  for (const CellResult& cell : cells)
    if (cell.reward && cell.kl) found.push_back(&cell);
  std::ranges::stable_sort(found, {}, [](const CellResult* cell) { return cell->kl->value; });
  return found;
}

/// Returns a curve of CellResult::reward over CellResult::kl for each algorithm and round.
std::vector<report::DrawnCurve> curves_of(const std::vector<const CellResult*>& cells) {
  std::vector<report::DrawnCurve> curves;
  for (const CellResult* cell : cells) {
    const std::string round = cell->value("round");
    const std::string label =
        cell->value("algorithm") + (round.empty() || round == "0" ? "" : ", round " + round);
    auto curve = std::ranges::find(curves, label, &report::DrawnCurve::label);
    if (curve == curves.end()) {
      const std::string color = "c" + std::to_string(curves.size() % 6 + 1);
      curve = curves.insert(curves.end(), {.label = label, .curve = {}, .css = color});
      curve->dots = true;
    }
    curve->curve.x.push_back(cell->kl->value);
    curve->curve.y.push_back(cell->reward->value);
  }
  return curves;
}

/// Returns the curve of best_reward() over the KL per token, from 0 to `most_kl`. The mean reward
/// of the reference policy is `cell.reference`, which must be set. The KL of a whole completion is
/// the KL per token times `cell.tokens`.
report::DrawnCurve best_curve(const CellResult& cell, double most_kl) {
  constexpr int kPoints = 100;
  report::DrawnCurve best{.label = "best", .curve = {}, .css = "ref", .dashed = true};
  for (int i = 0; i <= kPoints; ++i) {
    const double kl = most_kl * i / kPoints;
    best.curve.x.push_back(kl);
    best.curve.y.push_back(best_reward(*cell.reference, kl * cell.tokens));
  }
  return best;
}

}  // namespace

std::string svg_reward_by_kl(const std::vector<CellResult>& cells) {
  const std::vector<const CellResult*> found = with_kl(cells);
  if (found.empty()) return "";
  report::LineChart chart{.title = "Reward against KL",
                          .x_label = "KL per token from the reference, nats",
                          .y_label = "mean reward",
                          .height = 340,
                          .curves = curves_of(found),
                          .label_decimals = 2};
  const CellResult& last = *found.back();
  if (last.best) chart.curves.push_back(best_curve(last, last.kl->value));
  return svg_line_chart(chart);
}

}  // namespace mgpu::jobs
