#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <mgpu/report/svg_chart.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

constexpr double kLeft = 52;
constexpr double kTop = 30;
constexpr double kBottom = 44;
constexpr double kLabelGap = 17;   // pixels between the baselines of two labels
constexpr double kLabelLeft = 14;  // pixels between the end of the x axis and a label
constexpr double kLetter = 7.5;    // pixels; upper bound of the mean width of a letter
constexpr double kStrongLetter = 8.6;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void add(const std::vector<double>& values) {
    for (const double value : values)
      add(value);
  }
  /// Sets a range without values to [0, 1], and widens a range with one value, to avoid a division
  /// by zero.
  void widen_if_empty() {
    if (!(low <= high)) *this = {0.0, 1.0};
    if (low == high) {
      low -= 0.5;
      high += 0.5;
    }
  }
};

/// Returns the last finite value of a curve. Returns nullopt for a curve without finite values or
/// without a label.
std::optional<double> labeled_value(const DrawnCurve& drawn) {
  const std::vector<double>& y = drawn.curve.y;
  const auto last = std::find_if(y.rbegin(), y.rend(), [](double v) { return std::isfinite(v); });
  if (last == y.rend() || drawn.label.empty()) return std::nullopt;
  return *last;
}

std::string label_of(const LineChart& chart, const DrawnCurve& drawn, double value) {
  return text_of("%.*f", chart.label_decimals, value) + "  " + drawn.label;
}

/// Returns the width in pixels that the labels at the right ends of the curves need, at most half
/// of the chart.
double label_room(const LineChart& chart) {
  double widest = 0.0;
  for (const Level& level : chart.levels)
    widest = std::max(widest, kLetter * static_cast<double>(width_of(level.label)));
  for (const DrawnCurve& drawn : chart.curves)
    if (const std::optional<double> value = labeled_value(drawn)) {
      const auto letters = static_cast<double>(width_of(label_of(chart, drawn, *value)));
      widest = std::max(widest, (drawn.emphasis ? kStrongLetter : kLetter) * letters);
    }
  return std::min(kLabelLeft + widest, 0.5 * chart.width);
}

/// The chart's axes, which map values to pixels.
class Frame {
public:
  explicit Frame(const LineChart& chart)
      : right_(chart.width - label_room(chart)),
        bottom_(chart.height - kBottom),
        is_log_(chart.log_y) {
    for (const DrawnCurve& drawn : chart.curves) {
      x_.add(drawn.curve.x);
      y_.add(scaled(drawn.curve.y));
      y_.add(scaled(drawn.low));
      y_.add(scaled(drawn.high));
    }
    x_.add(chart.backdrop.x);
    for (const Level& level : chart.levels)
      y_.add(scaled(level.value));
    if (chart.from_zero) y_.add(0.0);
    x_.widen_if_empty();
    y_.widen_if_empty();
    const double pad = 0.04 * (y_.high - y_.low);
    y_.high += pad;
    if (!(chart.from_zero && y_.low >= 0)) y_.low -= pad;
    if (chart.whole_x) {
      x_.low -= 0.15;
      x_.high += 0.05;
    }
  }

  Point at(double x, double y) const { return {x_at(x), y_at(y)}; }
  double x_at(double x) const {
    return kLeft + (right_ - kLeft) * (x - x_.low) / (x_.high - x_.low);
  }
  double y_at(double y) const {
    return bottom_ - (bottom_ - kTop) * (scaled(y) - y_.low) / (y_.high - y_.low);
  }
  const Range& x() const { return x_; }
  std::vector<double> y_ticks(int count) const {
    return is_log_ ? log_ticks(std::pow(10.0, y_.low), std::pow(10.0, y_.high))
                   : round_ticks(y_.low, y_.high, count);
  }
  double right() const { return right_; }
  double bottom() const { return bottom_; }

private:
  double scaled(double y) const { return is_log_ ? std::log10(y) : y; }
  std::vector<double> scaled(std::vector<double> values) const {
    for (double& value : values)
      value = scaled(value);
    return values;
  }

  double right_;
  double bottom_;
  bool is_log_;
  Range x_;
  Range y_;
};

void draw_axes(Svg& svg, const LineChart& chart, const Frame& frame) {
  const auto y_ticks = frame.y_ticks(chart.height > 320 ? 6 : 4);
  const double y_step = y_ticks.size() > 1 ? y_ticks[1] - y_ticks[0] : 1.0;
  for (const double tick : y_ticks) {
    const double y = frame.y_at(tick);
    svg.line({kLeft, y}, {frame.right(), y}, tick == 0 ? "axis" : "grid");
    svg.text({kLeft - 8, y + 4}, tick_text(tick, chart.log_y ? tick : y_step), "tick", Anchor::end);
  }
  const bool each = chart.whole_x && frame.x().high - frame.x().low < 16;
  std::vector<double> x_ticks = round_ticks(frame.x().low, frame.x().high, each ? 16 : 5);
  if (chart.whole_x)
    std::erase_if(x_ticks, [](double tick) { return std::fabs(tick - std::round(tick)) > 1e-6; });
  const double x_step = x_ticks.size() > 1 ? x_ticks[1] - x_ticks[0] : 1.0;
  for (const double tick : x_ticks) {
    svg.text({frame.x_at(tick), frame.bottom() + 19}, tick_text(tick, x_step), "tick",
             Anchor::middle);
  }
  svg.text({kLeft, 14}, chart.y_label, "axis-name");
  svg.text({frame.right(), chart.height - 6}, chart.x_label, "axis-name", Anchor::end);
}

/// Returns whether a curve passes through the box of a short text that begins at `corner`.
bool is_crossed(const LineChart& chart, const Frame& frame, Point corner) {
  constexpr double kWidth = 78;  // pixels, width of the text "learning rate"
  const auto is_inside = [&](Point point) {
    return point.x > corner.x - 6 && point.x < corner.x + kWidth && point.y > corner.y - 16 &&
           point.y < corner.y + 8;
  };
  for (const DrawnCurve& drawn : chart.curves) {
    const Curve& curve = drawn.curve;
    for (std::size_t i = 1; i < curve.x.size(); ++i) {
      const Point from = frame.at(curve.x[i - 1], curve.y[i - 1]);
      const Point to = frame.at(curve.x[i], curve.y[i]);
      for (double t = 0.0; t <= 1.0; t += 0.05)
        if (is_inside({from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)})) return true;
    }
  }
  return false;
}

/// Returns a place where no curve crosses the label of the backdrop (LineChart::backdrop). Tries
/// the place above the backdrop first, then lower places. Returns the first place if curves cross
/// every place.
Point free_place(const LineChart& chart, const Frame& frame, double x, double room) {
  const Point above{x, frame.bottom() - room - 5};
  for (const double share : {1.0, 0.8, 0.65, 0.5, 0.35, 0.2, 0.0}) {
    const Point place{x, frame.bottom() - room * share - 5};
    if (!is_crossed(chart, frame, place)) return place;
  }
  return above;
}

void draw_backdrop(Svg& svg, const LineChart& chart, const Frame& frame) {
  if (chart.backdrop.empty()) return;
  const Curve curve = thinned(chart.backdrop, 200);
  double top = 0.0;
  for (const double y : curve.y)
    top = std::max(top, y);
  if (!(top > 0)) return;
  const double room = 0.82 * (frame.bottom() - kTop);
  std::vector<Point> area{{frame.x_at(curve.x.front()), frame.bottom()}};
  for (std::size_t i = 0; i < curve.x.size(); ++i)
    area.push_back({frame.x_at(curve.x[i]), frame.bottom() - room * curve.y[i] / top});
  area.push_back({area.back().x, frame.bottom()});
  svg.polygon(area, "backdrop");
  const auto peak = std::max_element(curve.y.begin(), curve.y.end()) - curve.y.begin();
  const double x =
      std::min(frame.x_at(curve.x[static_cast<std::size_t>(peak)]), frame.right() - 90);
  svg.text(free_place(chart, frame, std::max(x, kLeft) + 4, room), chart.backdrop_label,
           "backdrop-name");
}

/// Calls `draw(begin, end)` for each stretch of consecutive finite points.
template <class Draw>
void each_stretch(const Curve& curve, Draw draw) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= curve.y.size(); ++i) {
    if (i < curve.y.size() && std::isfinite(curve.y[i])) continue;
    if (i > begin) draw(begin, i);
    begin = i + 1;
  }
}

void draw_curve(Svg& svg, const DrawnCurve& drawn, const Frame& frame) {
  const Curve& curve = drawn.curve;
  const std::string css =
      drawn.css + (drawn.emphasis ? " strong" : "") + (drawn.dashed ? " dash" : "");
  each_stretch(curve, [&](std::size_t begin, std::size_t end) {
    std::vector<Point> points;
    std::vector<Point> band;
    for (std::size_t i = begin; i < end; ++i)
      points.push_back(frame.at(curve.x[i], curve.y[i]));
    if (drawn.low.size() == curve.x.size() && drawn.high.size() == curve.x.size()) {
      for (std::size_t i = begin; i < end; ++i)
        band.push_back(frame.at(curve.x[i], drawn.high[i]));
      for (std::size_t i = end; i-- > begin;)
        band.push_back(frame.at(curve.x[i], drawn.low[i]));
    }
    svg.polygon(band, drawn.css + " band");
    svg.polyline(points, css + " curve");
    for (std::size_t i = begin; drawn.dots && i < end; ++i)
      svg.circle(points[i - begin], drawn.emphasis ? 4 : 2.6, drawn.css + " dot",
                 text_of("%s: %g, %.2f", drawn.label.c_str(), curve.x[i], curve.y[i]));
  });
}

struct EndLabel {
  std::string words;
  std::string css;
  std::string key;
  double y;
};

/// Draws the labels at the right ends of the curves and of the horizontal reference lines (levels).
/// Moves the labels apart so that they do not overlap.
void draw_labels(Svg& svg, const LineChart& chart, const Frame& frame) {
  std::vector<EndLabel> labels;
  for (const Level& level : chart.levels)
    labels.push_back({level.label, "ref", "", frame.y_at(level.value)});
  for (const DrawnCurve& drawn : chart.curves) {
    const std::optional<double> value = labeled_value(drawn);
    if (!value) continue;
    labels.push_back({label_of(chart, drawn, *value), drawn.css + (drawn.emphasis ? " strong" : ""),
                      drawn.key, frame.y_at(*value)});
  }
  std::vector<double> positions;
  for (const EndLabel& label : labels)
    positions.push_back(label.y);
  const std::vector<double> y = spread_apart(positions, kLabelGap, kTop, frame.bottom());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (std::fabs(y[i] - labels[i].y) > 2)
      svg.line({frame.right() + 3, labels[i].y}, {frame.right() + 11, y[i]}, "leader");
    svg.text({frame.right() + kLabelLeft, y[i] + 4}, labels[i].words, labels[i].css + " name",
             Anchor::start, labels[i].key);
  }
}

}  // namespace

Curve thinned(const Curve& curve, std::size_t count) {
  if (curve.x.size() <= count || count == 0) return curve;
  Curve thin;
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t begin = b * curve.x.size() / count;
    const std::size_t end = (b + 1) * curve.x.size() / count;
    double x = 0.0;
    double y = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      x += curve.x[i];
      y += curve.y[i];
    }
    thin.x.push_back(x / static_cast<double>(end - begin));
    thin.y.push_back(y / static_cast<double>(end - begin));
  }
  return thin;
}

bool spans_decade(const LineChart& chart) {
  Range range;
  for (const DrawnCurve& drawn : chart.curves)
    for (const std::vector<double>* values : {&drawn.curve.y, &drawn.low, &drawn.high})
      range.add(*values);
  return range.low > 0.0 && range.high > 10.0 * range.low;
}

std::vector<double> log_ticks(double low, double high) {
  constexpr std::size_t kMost = 7;
  std::vector<double> all;
  std::vector<double> powers;
  for (double power = std::floor(std::log10(low)); power <= std::log10(high); ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10.0, power);
      if (tick < low || tick > high) continue;
      all.push_back(tick);
      if (factor == 1.0) powers.push_back(tick);
    }
  }
  return all.size() > kMost && powers.size() > 1 ? powers : all;
}

std::string svg_line_chart(const LineChart& chart) {
  Svg svg(chart.width, chart.height, chart.title);
  const Frame frame(chart);
  draw_backdrop(svg, chart, frame);
  draw_axes(svg, chart, frame);
  for (const Level& level : chart.levels)
    svg.line({kLeft, frame.y_at(level.value)}, {frame.right(), frame.y_at(level.value)}, "level");
  for (const DrawnCurve& drawn : chart.curves)
    draw_curve(svg, drawn, frame);
  draw_labels(svg, chart, frame);
  return svg.str();
}

}  // namespace mgpu::report
