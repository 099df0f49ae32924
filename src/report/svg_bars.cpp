#include <algorithm>

#include <mgpu/report/svg.hpp>
#include <mgpu/report/svg_bars.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

constexpr double kLeft = 62;
constexpr double kTop = 26;
constexpr double kBelow = 46;  // pixels for labels below the bars

void draw_axis(Svg& svg, const BarChart& chart, double highest) {
  const double bottom = chart.height - kBelow;
  const auto ticks = round_ticks(0.0, highest, 4);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : 1.0;
  for (const double tick : ticks) {
    const double y = bottom - (bottom - kTop) * tick / highest;
    svg.line({kLeft, y}, {chart.width, y}, tick == 0.0 ? "axis" : "grid");
    svg.text({kLeft - 8, y + 4}, tick_text(tick, step), "tick", Anchor::end);
  }
  svg.text({kLeft, chart.height - 6}, chart.x_label, "tick");
  svg.text({0, 10}, chart.y_label, "tick");
}

/// Draws the legend of the second color (BarChart::marked_css) at the upper right.
void draw_mark(Svg& svg, const BarChart& chart) {
  const double x = chart.width - 22.0 - 6.6 * static_cast<double>(width_of(chart.marked_label));
  svg.rect({x, 0}, {11, 11}, chart.marked_css + " bar", 2);
  svg.text({x + 16, 10}, chart.marked_label, "legend");
}

}  // namespace

std::string svg_bars(const BarChart& chart) {
  if (chart.bars.size() < 2) return "";
  double highest = 0.0;
  for (const BarChart::Bar& bar : chart.bars)
    highest = std::max(highest, bar.value);
  if (highest <= 0.0) return "";
  Svg svg(chart.width, chart.height, chart.title);
  draw_axis(svg, chart, highest);
  if (!chart.marked_label.empty()) draw_mark(svg, chart);
  const double bottom = chart.height - kBelow;
  const double each = (chart.width - kLeft) / static_cast<double>(chart.bars.size());
  const std::size_t every = (chart.bars.size() + 11) / 12;  // there is room for 12 labels of bars
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const BarChart::Bar& bar = chart.bars[i];
    const double x = kLeft + each * static_cast<double>(i);
    const double height = (bottom - kTop) * bar.value / highest;
    const double marked = (bottom - kTop) * bar.marked / highest;
    svg.rect({x + 0.1 * each, bottom - height + marked}, {0.8 * each, height - marked},
             chart.css + " bar");
    if (marked > 0.0)
      svg.rect({x + 0.1 * each, bottom - height}, {0.8 * each, marked}, chart.marked_css + " bar");
    if (i % every == 0) svg.text({x + each / 2, bottom + 17}, bar.label, "tick", Anchor::middle);
  }
  return svg.str();
}

std::vector<BarChart::Bar> histogram(const std::vector<std::int64_t>& values, int count) {
  return histogram(values, std::vector<std::uint8_t>(values.size(), 0), count);
}

std::vector<BarChart::Bar> histogram(const std::vector<std::int64_t>& values,
                                     const std::vector<std::uint8_t>& marked, int count) {
  if (values.empty()) return {};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const std::int64_t span = *high - *low + 1;
  std::int64_t width = 1;
  for (std::int64_t factor = 0; width * count < span; ++factor)
    width = factor % 3 == 1 ? width / 2 * 5 : width * 2;  // 1, 2, 5, 10, 20, 50, ...
  const std::int64_t first = *low / width;
  std::vector<BarChart::Bar> bars(static_cast<std::size_t>(*high / width - first + 1));
  for (std::size_t i = 0; i < bars.size(); ++i)
    bars[i].label = std::to_string((first + static_cast<std::int64_t>(i)) * width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    BarChart::Bar& bar = bars[static_cast<std::size_t>(values[i] / width - first)];
    bar.value += 1.0;
    bar.marked += marked.at(i) != 0 ? 1.0 : 0.0;
  }
  return bars;
}

}  // namespace mgpu::report
