#include <algorithm>
#include <cmath>

#include <mgpu/report/svg.hpp>
#include <mgpu/report/text_format.hpp>

#include "charts.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kWidth = 500;
constexpr double kLeft = 54;
constexpr double kRight = 16;
constexpr double kPanel = 132;  // height of the bars of one class
constexpr double kHead = 26;    // height of the name of the class
constexpr double kBelow = 44;

double x_of(double probability) {
  return kLeft + (kWidth - kLeft - kRight) * probability;
}

/// Returns the height of a bar of `rows` rows. The highest bar has `most` rows. The scale is
/// logarithmic, so that a bar of one row is visible next to a bar of thousands.
double height_of(std::int64_t rows, std::int64_t most) {
  const auto log = [](std::int64_t n) { return std::log10(1.0 + static_cast<double>(n)); };
  return kPanel * log(rows) / log(std::max<std::int64_t>(most, 1));
}

void draw_panel(report::Svg& svg, const std::vector<std::int64_t>& counts, std::int64_t most,
                const std::string& name, const char* css, double top) {
  const double bottom = top + kHead + kPanel;
  for (std::int64_t tick = 1; tick <= most; tick *= 10) {
    const double y = bottom - height_of(tick, most);
    svg.line({kLeft, y}, {kWidth - kRight, y}, "grid");
    svg.text({kLeft - 8, y + 4}, report::tick_text(static_cast<double>(tick), 1.0), "tick",
             report::Anchor::end);
  }
  svg.line({kLeft, bottom}, {kWidth - kRight, bottom}, "axis");
  const double each = 1.0 / static_cast<double>(counts.size());
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    rows += counts[i];
    if (counts[i] == 0) continue;
    const double low = each * static_cast<double>(i);
    const double height = height_of(counts[i], most);
    svg.rect(
        {x_of(low) + 1, bottom - height}, {x_of(low + each) - x_of(low) - 2, height},
        std::string(css) + " bar", 0.0,
        report::text_of("%.2f to %.2f: ", low, low + each) + report::counted(counts[i], "row"));
  }
  svg.text({kLeft, top + 15}, name + ", " + report::counted(rows, "row"),
           std::string(css) + " name");
}

}  // namespace

std::string svg_scores(const ClassifyPlots& plots) {
  std::int64_t most = 0;
  for (const auto* counts : {&plots.positive_scores, &plots.other_scores})
    for (const std::int64_t count : *counts)
      most = std::max(most, count);
  if (most == 0) return "";
  const double bottom = 2 * (kHead + kPanel) + 10;
  report::Svg svg(kWidth, bottom + kBelow, "How probable the positive label was, by true label");
  const std::string name = report::clip(plots.positive, 20);
  draw_panel(svg, plots.positive_scores, most, "truly " + name, "c2", 0);
  draw_panel(svg, plots.other_scores, most, "not " + name, "c1", kHead + kPanel + 10);
  for (const double tick : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0})
    svg.text({x_of(tick), bottom + 18}, report::tick_text(tick, 0.2), "tick",
             report::Anchor::middle);
  if (plots.labels.size() == 2) svg.line({x_of(0.5), kHead}, {x_of(0.5), bottom}, "level");
  svg.text({kWidth - kRight, bottom + kBelow - 6}, "probability of " + name, "axis-name",
           report::Anchor::end);
  return svg.str();
}

}  // namespace mgpu::jobs
