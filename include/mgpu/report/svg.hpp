#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mgpu::report {

struct Point {
  double x = 0.0;
  double y = 0.0;
};

/// Which point of a text lies at the given position: start, middle or end (text-anchor of SVG).
enum class Anchor { start, middle, end };

/// Builds one SVG chart for an HTML page. Shapes have CSS classes, so that the page's light and
/// dark palettes color them. Coordinates are pixels of the chart, y downwards.
class Svg {
public:
  /// `title`: the text for screen readers.
  Svg(double width, double height, std::string_view title);

  void line(Point from, Point to, std::string_view css);
  void rect(Point corner, Point size, std::string_view css, double radius = 0.0,
            std::string_view hover = "");
  void circle(Point center, double radius, std::string_view css, std::string_view hover = "");
  void polyline(const std::vector<Point>& points, std::string_view css);
  /// Draws a closed, filled polygon.
  void polygon(const std::vector<Point>& points, std::string_view css);
  /// Draws a text. `key` is the JSON pointer, in summary.json, to the number that the text shows;
  /// it is "" if the text shows no such number.
  void text(Point at, std::string_view words, std::string_view css, Anchor anchor = Anchor::start,
            std::string_view key = "");
  /// Begins an element <g>, which contains all later shapes until close().
  void open(std::string_view css, double opacity = 1.0);
  void close();

  std::string str() const { return body_ + "</svg>\n"; }

private:
  std::string body_;
};

/// Returns about `count` round numbers in [low, high], which are 1, 2 or 5 times a power of ten
/// apart. Returns only `low` if the range is empty or not finite.
std::vector<double> round_ticks(double low, double high, int count);

/// Formats the label of a tick: "0", "0.5", "20k", "3e-04". `step` is the distance between ticks.
/// It determines the number of decimals of values below 10,000.
std::string tick_text(double value, double step);

/// Moves positions so that neighbors are at least `gap` apart, and keeps their order. The
/// positions stay within [low, high] if there is room. Charts use it for labels at the ends of
/// curves.
std::vector<double> spread_apart(std::vector<double> positions, double gap, double low,
                                 double high);

}  // namespace mgpu::report
