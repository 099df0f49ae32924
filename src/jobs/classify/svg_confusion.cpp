#include <algorithm>
#include <numeric>

#include <mgpu/report/svg.hpp>
#include <mgpu/report/text_format.hpp>

#include "charts.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::size_t kMaxLabels = 10;
constexpr std::size_t kNameWidth = 14;
constexpr double kWidth = 500;
constexpr double kLeft = 112;
constexpr double kTop = 50;

/// Returns the number of labels, plus one for "unknown" if a row was given no label.
std::size_t columns_of(const ClassifyPlots& plots) {
  const std::size_t labels = plots.labels.size();
  for (std::size_t row = 0; row < labels; ++row)
    if (plots.confusion[row * (labels + 1) + labels] > 0) return labels + 1;
  return labels;
}

/// Draws the cell of `count` rows. `share` is the share of these rows among all rows with the same
/// true label; a larger share makes the cell darker. `is_right` chooses the hue.
void draw_cell(report::Svg& svg, report::Point corner, report::Point size, std::int64_t count,
               double share, bool is_right) {
  svg.rect(corner, size, "ph-none", 4);
  if (count > 0) {
    svg.open("", 0.15 + 0.55 * share);
    svg.rect(corner, size, is_right ? "cell right" : "cell wrong", 4);
    svg.close();
  }
  const double x = corner.x + size.x / 2;
  const double y = corner.y + size.y / 2;
  svg.text({x, y + (size.y >= 40 ? -1 : 4)}, report::grouped(count), "count",
           report::Anchor::middle);
  if (size.y >= 40 && count > 0)
    svg.text({x, y + 16}, report::percent(share), "share", report::Anchor::middle);
}

}  // namespace

std::string svg_confusion(const ClassifyPlots& plots) {
  const std::size_t labels = plots.labels.size();
  if (labels == 0 || labels > kMaxLabels || plots.judged == 0) return "";
  const std::size_t columns = columns_of(plots);
  const double wide = (kWidth - kLeft) / static_cast<double>(columns);
  const double high = std::clamp(330.0 / static_cast<double>(labels), 30.0, 110.0);
  report::Svg svg(kWidth, kTop + high * static_cast<double>(labels) + 4,
                  "Rows by their true label and the predicted one");
  svg.text({kLeft, 13}, "predicted", "axis-name");
  svg.text({0, kTop - 10}, "true", "axis-name");
  const std::size_t name_width = std::min(kNameWidth, static_cast<std::size_t>(wide / 7.5));
  for (std::size_t column = 0; column < columns; ++column) {
    const std::string name = column < labels ? plots.labels[column] : "unknown";
    svg.text({kLeft + wide * (static_cast<double>(column) + 0.5), kTop - 10},
             report::clip(name, name_width), "tick", report::Anchor::middle);
  }
  for (std::size_t row = 0; row < labels; ++row) {
    const auto begin = plots.confusion.begin() + static_cast<std::ptrdiff_t>(row * (labels + 1));
    const std::int64_t all =
        std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(labels + 1), std::int64_t{0});
    const double y = kTop + high * static_cast<double>(row);
    svg.text({kLeft - 10, y + high / 2 + 4}, report::clip(plots.labels[row], kNameWidth), "tick",
             report::Anchor::end);
    for (std::size_t column = 0; column < columns; ++column) {
      const std::int64_t count = *(begin + static_cast<std::ptrdiff_t>(column));
      const double share = all > 0 ? static_cast<double>(count) / static_cast<double>(all) : 0.0;
      draw_cell(svg, {kLeft + wide * static_cast<double>(column) + 2, y + 2}, {wide - 4, high - 4},
                count, share, row == column);
    }
  }
  return svg.str();
}

}  // namespace mgpu::jobs
