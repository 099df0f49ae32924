#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/phases.hpp>
#include <mgpu/report/summary.hpp>
#include <mgpu/report/svg.hpp>

namespace mgpu::report {

/// The points of a curve.
struct Curve {
  std::vector<double> x;
  std::vector<double> y;  // as long as x; a value that is not finite leaves a gap

  bool empty() const { return x.empty(); }
};

/// Reduces a curve to at most `count` points. If the curve has more points, each point of the
/// result is the mean of about equally many consecutive points. If `count` is 0, returns the whole
/// curve.
Curve thinned(const Curve& curve, std::size_t count);

/// A curve and the way to draw it.
struct DrawnCurve {
  std::string label;  // at the right end of the curve
  Curve curve;
  std::string css;             // CSS class of its color: "c1" to "c6", "ref"
  bool dots = false;           // a dot at each point, which shows its value on hover
  bool emphasis = false;       // a thick line
  bool dashed = false;         // a dashed line
  std::vector<double> low{};   // lower edge of a band around the curve; or empty
  std::vector<double> high{};  // upper edge of the band, as long as `low`
  std::string key{};           // JSON pointer, in summary.json, to the last value; "" for none
};

/// A horizontal reference line.
struct Level {
  std::string label;
  double value = 0.0;
};

struct LineChart {
  std::string title;  // for screen readers
  std::string x_label;
  std::string y_label;
  double width = 1040;
  double height = 400;
  std::vector<DrawnCurve> curves;
  std::vector<Level> levels{};
  Curve backdrop{};  // a filled area that the curves overlap, on a separate scale
  std::string backdrop_label{};
  bool from_zero = false;  // the y axis begins at 0
  bool whole_x = false;    // ticks only at integers
  bool log_y = false;      // a logarithmic y axis; all values must be above 0, and from_zero false
  int label_decimals = 1;  // decimals of the value in the label of each curve
};
std::string svg_line_chart(const LineChart& chart);

/// Returns whether the curves of a chart need a logarithmic y axis: all their values are above 0,
/// and the largest is more than ten times the smallest.
bool spans_decade(const LineChart& chart);

/// Returns the ticks of a logarithmic axis over [low, high], where `low` must be above 0. They are
/// 1, 2 and 5 times powers of ten. If there are more than seven such ticks, and at least two of
/// them are powers of ten, returns only the powers of ten.
std::vector<double> log_ticks(double low, double high);

/// Draws a time line with one row per rank, which shows the share of each phase at every moment.
/// Waiting is red, and communication that does not overlap with computation is orange. Returns ""
/// if the table has no shares.
std::string svg_timeline(const PhaseTable& table);

/// Returns the CSS class for the color of each phase of the table:
/// - Phases with less than 1 % of the time, and the phase "other", share the color of "other".
/// - Some phases, such as "forward", have a fixed color.
/// - The eight longest of the remaining phases have different colors. Any further phases have the
///   color of "other".
std::vector<std::string> phase_classes(const PhaseTable& table);

/// Draws the memory of each element of `gpus` as a row of bars: allocated, reserved and total. The
/// label of a row has the rank's number. All rows have the same scale. Returns "" if `gpus` is
/// empty.
std::string svg_memory(const std::vector<RunSummary::GpuMemory>& gpus);

}  // namespace mgpu::report
