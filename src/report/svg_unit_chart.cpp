#include <algorithm>

#include <mgpu/report/svg.hpp>
#include <mgpu/report/svg_unit_chart.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

constexpr double kWidth = 500;
constexpr double kHeight = 400;
constexpr double kLeft = 54;
constexpr double kRight = 16;
constexpr double kTop = 26;
constexpr double kBottom = 46;

Point at(double x, double y) {
  return {kLeft + (kWidth - kLeft - kRight) * x,
          kHeight - kBottom - (kHeight - kBottom - kTop) * y};
}

void draw_axes(Svg& svg, const UnitChart& chart) {
  for (const double tick : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}) {
    svg.line(at(0, tick), at(1, tick), tick == 0.0 ? "axis" : "grid");
    svg.text({kLeft - 8, at(0, tick).y + 4}, tick_text(tick, 0.2), "tick", Anchor::end);
    svg.text({at(tick, 0).x, kHeight - kBottom + 18}, tick_text(tick, 0.2), "tick", Anchor::middle);
  }
  svg.text({kLeft, 13}, chart.y_label, "axis-name");
  svg.text({kWidth - kRight, kHeight - 6}, chart.x_label, "axis-name", Anchor::end);
  svg.line(at(0, 0), at(1, 1), "level");
}

/// Writes the meaning of the diagonal, and the note above it, at the place that
/// UnitChart::has_room_above selects.
void draw_labels(Svg& svg, const UnitChart& chart) {
  const Point room = chart.has_room_above ? Point{kLeft + 12, kTop + 38}
                                          : Point{kWidth - kRight - 196, kHeight - kBottom - 18};
  svg.line(room, {room.x + 22, room.y}, "level");
  svg.text({room.x + 28, room.y + 4}, chart.diagonal, "legend");
  if (!chart.note.empty()) svg.text({room.x, room.y - 18}, chart.note, chart.css + " name strong");
}

/// Writes a text under a point, or above the point if the point is near the bottom of the chart.
void draw_count(Svg& svg, Point point, const std::string& words) {
  const bool is_low = point.y > kHeight - kBottom - 22;
  svg.text(
      {std::clamp(point.x, kLeft + 14, kWidth - kRight - 14), is_low ? point.y - 9 : point.y + 17},
      words, "rows", Anchor::middle);
}

}  // namespace

std::string svg_unit_chart(const UnitChart& chart) {
  if (chart.curve.empty()) return "";
  Svg svg(kWidth, kHeight, chart.title);
  draw_axes(svg, chart);
  std::vector<Point> points;
  for (std::size_t i = 0; i < chart.curve.x.size(); ++i)
    points.push_back(at(chart.curve.x[i], chart.curve.y[i]));
  for (std::size_t i = 0; i < chart.low.size(); ++i) {
    const double x = chart.curve.x[i];
    svg.line(at(x, chart.low[i]), at(x, chart.high[i]), chart.css + " whisker");
  }
  svg.polyline(points, chart.css + " curve");
  for (std::size_t i = 0; i < chart.hover.size(); ++i)
    svg.circle(points[i], 4, chart.css + " dot", chart.hover[i]);
  for (std::size_t i = 0; i < chart.counts.size(); ++i)
    draw_count(svg, points[i], chart.counts[i]);
  draw_labels(svg, chart);
  return svg.str();
}

}  // namespace mgpu::report
