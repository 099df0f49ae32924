#include <algorithm>
#include <cmath>
#include <numeric>

#include <mgpu/report/escape.hpp>
#include <mgpu/report/svg.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

/// Formats pixels with one decimal, without a trailing ".0".
std::string px(double value) {
  std::string text = text_of("%.1f", std::isfinite(value) ? value : 0.0);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + px(value) + '"';
}

std::string css_class(std::string_view css) {
  return css.empty() ? "" : " class=\"" + escape_html(css) + '"';
}

std::string list_of(const std::vector<Point>& points) {
  std::string text;
  for (const Point& point : points)
    text += px(point.x) + ',' + px(point.y) + ' ';
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title)
    : body_("<svg viewBox=\"0 0 " + px(width) + ' ' + px(height) + "\" role=\"img\"><title>" +
            escape_html(title) + "</title>\n") {}

void Svg::line(Point from, Point to, std::string_view css) {
  body_ += "<line" + css_class(css) + attribute("x1", from.x) + attribute("y1", from.y) +
           attribute("x2", to.x) + attribute("y2", to.y) + "/>\n";
}

void Svg::rect(Point corner, Point size, std::string_view css, double radius,
               std::string_view hover) {
  body_ += "<rect" + css_class(css) + attribute("x", corner.x) + attribute("y", corner.y) +
           attribute("width", std::max(size.x, 0.0)) + attribute("height", std::max(size.y, 0.0)) +
           (radius > 0 ? attribute("rx", radius) : "");
  body_ += hover.empty() ? "/>\n" : "><title>" + escape_html(hover) + "</title></rect>\n";
}

void Svg::circle(Point center, double radius, std::string_view css, std::string_view hover) {
  body_ += "<circle" + css_class(css) + attribute("cx", center.x) + attribute("cy", center.y) +
           attribute("r", radius);
  body_ += hover.empty() ? "/>\n" : "><title>" + escape_html(hover) + "</title></circle>\n";
}

void Svg::polyline(const std::vector<Point>& points, std::string_view css) {
  if (points.empty()) return;
  body_ += "<polyline" + css_class(css) + " points=\"" + list_of(points) + "\"/>\n";
}

void Svg::polygon(const std::vector<Point>& points, std::string_view css) {
  if (points.empty()) return;
  body_ += "<polygon" + css_class(css) + " points=\"" + list_of(points) + "\"/>\n";
}

void Svg::text(Point at, std::string_view words, std::string_view css, Anchor anchor,
               std::string_view key) {
  static constexpr const char* kAnchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  body_ += "<text" + css_class(css) + attribute("x", at.x) + attribute("y", at.y) +
           kAnchors[static_cast<int>(anchor)];
  if (!key.empty()) body_ += " data-key=\"" + escape_html(key) + '"';
  body_ += '>' + escape_html(words) + "</text>\n";
}

void Svg::open(std::string_view css, double opacity) {
  body_ += "<g" + css_class(css);
  if (opacity < 1.0) body_ += text_of(" opacity=\"%.2f\"", opacity);
  body_ += ">\n";
}

void Svg::close() {
  body_ += "</g>\n";
}

std::vector<double> round_ticks(double low, double high, int count) {
  const double span = high - low;
  if (!(span > 0) || !std::isfinite(span)) return {low};
  const double rough = span / std::max(count, 1);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (rough <= factor * power * 1.001) step = factor * power;
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9);
  const double last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last; ++i)
    ticks.push_back(i * step);
  return ticks;
}

std::string tick_text(double value, double step) {
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size >= 1e6) return text_of("%gM", value / 1e6);
  if (size >= 1e4) return text_of("%gk", value / 1e3);
  const double decimals = std::ceil(-std::log10(step) - 1e-9);
  const auto shown = [](double digits) { return static_cast<int>(std::clamp(digits, 0.0, 6.0)); };
  if (size < 1e-3)
    return text_of("%.*e", shown(decimals + std::floor(std::log10(size) + 1e-9)), value);
  return text_of("%.*f", shown(decimals), value);
}

std::vector<double> spread_apart(std::vector<double> positions, double gap, double low,
                                 double high) {
  const std::size_t n = positions.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return positions[a] < positions[b]; });
  // The first loop increases positions until each is at least `low`, and at least `gap` above the
  // position before it. The second loop decreases them until each is at most `high`, and at least
  // `gap` below the position after it.
  double floor = low;
  for (const std::size_t i : order) {
    positions[i] = std::max(positions[i], floor);
    floor = positions[i] + gap;
  }
  double ceiling = high;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    positions[*it] = std::min(positions[*it], ceiling);
    ceiling = positions[*it] - gap;
  }
  return positions;
}

}  // namespace mgpu::report
