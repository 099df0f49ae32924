#pragma once

#include <cstddef>
#include <string>

#include <mgpu/report/html_page.hpp>
#include <mgpu/report/svg_chart.hpp>

// Draws charts over optimizer steps, for the pages of all recipes.
namespace mgpu::recipes {

/// The maximum number of points of a curve on a page and in summary.json.
inline constexpr std::size_t kShownPoints = 200;

/// Returns an empty chart over optimizer steps, whose background shows the learning rate.
report::LineChart step_chart(const char* title, const std::string& y_label,
                             const report::Curve& learning_rate);

/// Returns a chart of losses with its caption. If report::spans_decade() is true for the chart,
/// makes the y axis logarithmic, and appends a sentence about this to `caption`.
report::Figure loss_chart_figure(const char* title, report::LineChart chart, std::string caption);

/// Returns the JSON pointer to the last point of `curve` in summary.json, where the curve is named
/// `series` and has at most kShownPoints points.
std::string series_key(const std::string& series, const report::Curve& curve);

/// Returns curve `noisy` with kShownPoints points at most. If `noisy` has more points, each
/// returned point is the mean of about equally many steps, and a band shows their range. `series`
/// is the name of the curve in summary.json.
report::DrawnCurve banded_curve(const std::string& label, const std::string& series,
                                const report::Curve& noisy, const std::string& css);

/// Returns a caption for the points of banded_curve(): "Each point is the mean of 4 steps, and the
/// band shows their range; ...".
std::string band_caption(const report::Curve& noisy);

}  // namespace mgpu::recipes
