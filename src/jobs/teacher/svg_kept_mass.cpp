#include <algorithm>
#include <cmath>
#include <vector>

#include <mgpu/report/svg.hpp>
#include <mgpu/report/text_format.hpp>

#include "charts.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kWidth = 520;
constexpr double kHeight = 330;
constexpr double kLeft = 86;
constexpr double kRight = 18;
constexpr double kTop = 34;
constexpr double kBottom = 72;  // height of three rows of labels
constexpr std::size_t kLabels = 7;

double x_of(std::int64_t k, std::int64_t last) {
  const double room = kWidth - kLeft - kRight;
  return kLeft +
         room * (last > 1 ? std::log(static_cast<double>(k)) / std::log(static_cast<double>(last))
                          : 0.5);
}

double y_of(double share) {
  return kTop + (kHeight - kBottom - kTop) * (1.0 - share);
}

void draw_axes(report::Svg& svg) {
  for (const double tick : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    svg.line({kLeft, y_of(tick)}, {kWidth - kRight, y_of(tick)}, tick == 0.0 ? "axis" : "grid");
    svg.text({kLeft - 8, y_of(tick) + 4}, report::percent(tick, 0), "tick", report::Anchor::end);
  }
  svg.line({kLeft, 10}, {kLeft + 22, 10}, "c1 curve");
  svg.text({kLeft + 28, 14}, "mean", "legend");
  svg.line({kLeft + 84, 10}, {kLeft + 106, 10}, "c2 dash curve");
  svg.text({kLeft + 112, 14}, "a tenth of the tokens keep less", "legend");
}

/// Returns whether point i gets a label. The point with the largest k gets a label. Of the points
/// whose k is a power of two, every n-th point gets a label, unless it is too close to the point
/// with the largest k. The number n is chosen so that there are at most kLabels labels.
bool has_label(const KeptMass& mass, std::size_t i) {
  const std::vector<KeptMass::Point>& points = mass.points;
  const std::int64_t last = points.back().k;
  if (i + 1 == points.size()) return true;
  const std::int64_t k = points[i].k;
  const double room = (kWidth - kLeft - kRight) / static_cast<double>(kLabels);
  if ((k & (k - 1)) != 0 || x_of(last, last) - x_of(k, last) < room) return false;
  const double doublings = std::log2(static_cast<double>(last));
  const auto every = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(doublings / static_cast<double>(kLabels - 1))));
  return static_cast<std::int64_t>(std::lround(std::log2(static_cast<double>(k)))) % every == 0;
}

void draw_labels(report::Svg& svg, const KeptMass& mass) {
  const double bottom = kHeight - kBottom;
  for (std::size_t i = 0; i < mass.points.size(); ++i) {
    if (!has_label(mass, i)) continue;
    const KeptMass::Point& point = mass.points[i];
    const double x = x_of(point.k, mass.points.back().k);
    svg.line({x, bottom}, {x, bottom + 4}, "axis");
    svg.text({x, bottom + 20}, report::grouped(point.k), "tick", report::Anchor::middle);
    svg.text({x, bottom + 40}, report::grouped(point.bytes_fp16) + " B", "tick",
             report::Anchor::middle);
    svg.text({x, bottom + 60}, report::grouped(point.bytes_packed) + " B", "tick",
             report::Anchor::middle);
  }
  // The names of the three rows of labels are at the left edge, left of the first labels.
  svg.text({0, bottom + 20}, "k", "axis-name");
  svg.text({0, bottom + 40}, "fp16", "axis-name");
  svg.text({0, bottom + 60}, "packed", "axis-name");
}

}  // namespace

std::string svg_kept_mass(const KeptMass& mass) {
  if (mass.points.empty()) return "";
  report::Svg svg(kWidth, kHeight,
                  "Probability that is kept, over the number of tokens that are kept");
  draw_axes(svg);
  draw_labels(svg, mass);
  const std::int64_t last = mass.points.back().k;
  std::vector<report::Point> mean;
  std::vector<report::Point> low;
  for (const KeptMass::Point& point : mass.points) {
    mean.push_back({x_of(point.k, last), y_of(point.mean)});
    low.push_back({x_of(point.k, last), y_of(point.low)});
  }
  svg.polyline(low, "c2 dash curve");
  svg.polyline(mean, "c1 curve");
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const KeptMass::Point& point = mass.points[i];
    svg.circle(
        mean[i], 3.2, "c1 dot",
        report::text_of("k = %lld: %.2f %% on average, a tenth of the tokens less than %.2f %%",
                        static_cast<long long>(point.k), 100.0 * point.mean, 100.0 * point.low));
  }
  return svg.str();
}

}  // namespace mgpu::jobs
