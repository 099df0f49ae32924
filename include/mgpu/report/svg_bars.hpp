#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mgpu::report {

/// A bar chart: a histogram, or one number per rank.
struct BarChart {
  struct Bar {
    std::string label;  // text below the bar; "" for none; at most 12 bars show their labels
    double value = 0.0;
    double marked = 0.0;  // the part of `value` that is drawn in the second color, at the top
  };

  std::string title;  // for screen readers
  std::string x_label;
  std::string y_label;
  double width = 520;
  double height = 260;
  std::vector<Bar> bars;
  std::string css = "c1";         // CSS class of the first color
  std::string marked_css = "c2";  // CSS class of the second color
  std::string marked_label{};     // legend of the marked parts, above the bars; "" for none
};
/// Draws the chart as SVG. Returns "" if there are fewer than two bars, or if no value is above 0.
std::string svg_bars(const BarChart& chart);

/// Returns the bars of a histogram of `values`, which must not be negative. Each bar counts the
/// values in one interval. All intervals have the same width: 1, 2 or 5 times a power of ten. There
/// are at most `count` + 1 bars, and no bars if there are no values.
std::vector<BarChart::Bar> histogram(const std::vector<std::int64_t>& values, int count);

/// Returns the bars of the overload above, and also sets Bar::marked. A value is marked if its
/// entry in `marked` is not 0, and Bar::marked is the number of marked values in the interval.
/// Shapes: `marked` has the shape of `values`.
std::vector<BarChart::Bar> histogram(const std::vector<std::int64_t>& values,
                                     const std::vector<std::uint8_t>& marked, int count);

}  // namespace mgpu::report
