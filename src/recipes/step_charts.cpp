#include "step_charts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <mgpu/report/text_format.hpp>

namespace mgpu::recipes {

report::LineChart step_chart(const char* title, const std::string& y_label,
                             const report::Curve& learning_rate) {
  report::LineChart chart;
  chart.title = title;
  chart.x_label = "optimizer step";
  chart.y_label = y_label;
  chart.width = 520;
  chart.height = 300;
  chart.backdrop = learning_rate;
  chart.backdrop_label = "learning rate";
  return chart;
}

report::Figure loss_chart_figure(const char* title, report::LineChart chart, std::string caption) {
  if (report::spans_decade(chart)) {
    chart.log_y = true;
    chart.from_zero = false;
    caption += " The axis is logarithmic.";
  }
  return {title, report::svg_line_chart(chart), std::move(caption)};
}

std::string series_key(const std::string& series, const report::Curve& curve) {
  return "/series/" + series + '/' +
         std::to_string(report::thinned(curve, kShownPoints).y.size() - 1);
}

report::DrawnCurve banded_curve(const std::string& label, const std::string& series,
                                const report::Curve& noisy, const std::string& css) {
  report::DrawnCurve drawn{label, report::thinned(noisy, kShownPoints), css};
  drawn.key = series_key(series, noisy);
  if (noisy.x.size() <= kShownPoints) return drawn;
  for (std::size_t b = 0; b < kShownPoints; ++b) {
    const auto edge = [&](std::size_t point) {
      return noisy.y.begin() + static_cast<std::ptrdiff_t>(point * noisy.y.size() / kShownPoints);
    };
    const auto [low, high] = std::minmax_element(edge(b), edge(b + 1));
    drawn.low.push_back(*low);
    drawn.high.push_back(*high);
  }
  return drawn;
}

std::string band_caption(const report::Curve& noisy) {
  const std::size_t steps = noisy.x.size();
  if (steps <= kShownPoints) return "Each point is the mean over the batch of a step.";
  const std::size_t fewest = steps / kShownPoints;
  const std::string count = steps % kShownPoints == 0
                                ? std::to_string(fewest)
                                : report::text_of("%zu or %zu", fewest, fewest + 1);
  return "Each point is the mean of " + count +
         " steps, and the band shows their range; the label has the value of the last point.";
}

}  // namespace mgpu::recipes
