#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <mgpu/report/svg.hpp>
#include <mgpu/report/text_format.hpp>

#include "page.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kWide = 1040;
constexpr double kNames = 190;  // width of the row names
constexpr double kHead = 24;
constexpr double kHigh = 40;
constexpr double kGap = 3;
constexpr double kWidest = 240;  // largest width of a cell

/// Returns the index of `name` in `names`. First appends the name if it is not in the list.
std::size_t index_in(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

/// Draws one reward as a colored rectangle. `share` decides how strong the color is: 0 for the
/// smallest reward of all cells, 1 for the largest.
void draw_reward(report::Svg& svg, const CellResult& cell, report::Point corner, double width,
                 double share) {
  constexpr double kPalest = 0.12;
  constexpr double kStrongest = 0.6;
  svg.open("", kPalest + (kStrongest - kPalest) * share);
  svg.rect(corner, {width - kGap, kHigh - kGap}, "cell right", 3);
  svg.close();
  const double middle = corner.x + 0.5 * (width - kGap);
  svg.text({middle, corner.y + 17}, report::text_of("%.4f", cell.reward->value), "share",
           report::Anchor::middle);
  svg.text({middle, corner.y + 32}, cell.reward->interval(), "share", report::Anchor::middle);
}

}  // namespace

std::string svg_rewards(const std::vector<CellResult>& cells) {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  double low = INFINITY;
  double high = -INFINITY;
  for (const CellResult& cell : cells) {
    index_in(rows, row_of(cell));
    index_in(columns, column_of(cell));
    if (!cell.reward) continue;
    low = std::min(low, cell.reward->value);
    high = std::max(high, cell.reward->value);
  }
  if (!(low <= high)) return "";
  const double width = std::min((kWide - kNames) / static_cast<double>(columns.size()), kWidest);
  report::Svg svg(kWide, kHead + kHigh * static_cast<double>(rows.size()),
                  "Reward of each algorithm");
  for (std::size_t c = 0; c < columns.size(); ++c)
    svg.text({kNames + width * (static_cast<double>(c) + 0.5), kHead - 9}, columns[c], "tick",
             report::Anchor::middle);
  for (std::size_t r = 0; r < rows.size(); ++r)
    svg.text({0, kHead + kHigh * static_cast<double>(r) + 23}, rows[r], "tick");
  for (const CellResult& cell : cells) {
    if (!cell.reward) continue;
    const auto row = static_cast<double>(index_in(rows, row_of(cell)));
    const auto column = static_cast<double>(index_in(columns, column_of(cell)));
    const double share = high > low ? (cell.reward->value - low) / (high - low) : 0.5;
    draw_reward(svg, cell, {kNames + width * column, kHead + kHigh * row}, width, share);
  }
  return svg.str();
}

}  // namespace mgpu::jobs
