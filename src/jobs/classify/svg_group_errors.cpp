#include <algorithm>
#include <array>

#include <mgpu/report/svg.hpp>
#include <mgpu/report/text_format.hpp>

#include "charts.hpp"
#include "metrics.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kWidth = 1040;
constexpr double kLeft = 190;  // width of the names
constexpr double kPanel = 242;
constexpr double kApart = 52;
constexpr double kTop = 34;
constexpr double kRow = 26;
constexpr std::size_t kNameWidth = 22;

struct Panel {
  const char* name;
  const char* css;
  bool has_limit;
};
constexpr std::array<Panel, 3> kPanels{
    {{"wrong", "c1", false}, {"false positives", "c2", true}, {"false negatives", "c4", true}}};

/// Returns the rates of a group, one for each panel. The first is 1 - accuracy.
std::array<ShownRate, 3> rates_of(const ClassifyPlots::GroupErrors& group) {
  const ShownRate& right = group.accuracy;
  return {{{1.0 - right.value, 1.0 - right.high, 1.0 - right.low, right.is_defined},
           group.false_positive,
           group.false_negative}};
}

double left_of(std::size_t panel) {
  return kLeft + (kPanel + kApart) * static_cast<double>(panel);
}

double x_of(std::size_t panel, double share) {
  return left_of(panel) + kPanel * share;
}

void draw_axes(report::Svg& svg, double bottom) {
  for (std::size_t p = 0; p < kPanels.size(); ++p) {
    svg.text({left_of(p), 16}, kPanels[p].name, std::string(kPanels[p].css) + " name");
    for (const double tick : {0.0, 0.25, 0.5, 0.75, 1.0}) {
      svg.line({x_of(p, tick), kTop - 6}, {x_of(p, tick), bottom}, tick == 0.0 ? "axis" : "grid");
      svg.text({x_of(p, tick), bottom + 18}, report::percent(tick, 0), "tick",
               report::Anchor::middle);
    }
    if (kPanels[p].has_limit)
      svg.line({x_of(p, kFairRate), kTop - 6}, {x_of(p, kFairRate), bottom}, "level");
  }
}

void draw_rate(report::Svg& svg, const ShownRate& rate, std::size_t p, double y) {
  if (!rate.is_defined) {
    svg.text({left_of(p) + 6, y + 4}, "no such rows", "tick");
    return;
  }
  const std::string css = kPanels[p].css;
  svg.line({x_of(p, rate.low), y}, {x_of(p, rate.high), y}, css + " whisker");
  svg.circle({x_of(p, rate.value), y}, 4.5, css + " dot",
             report::percent(rate.value) + " (" + report::percent(rate.low) + " to " +
                 report::percent(rate.high) + ")");
}

}  // namespace

std::string svg_group_errors(const std::vector<ClassifyPlots::GroupErrors>& groups) {
  if (groups.empty()) return "";
  const std::size_t shown = std::min(groups.size(), kShownGroups);
  const double bottom = kTop + kRow * static_cast<double>(shown);
  report::Svg svg(kWidth, bottom + 26, "Error rates of each group, with 95 % intervals");
  draw_axes(svg, bottom);
  for (std::size_t g = 0; g < shown; ++g) {
    const double y = kTop + kRow * (static_cast<double>(g) + 0.5);
    const std::string words =
        report::clip(groups[g].name, kNameWidth) + " (" + report::grouped(groups[g].rows) + ")";
    svg.text({kLeft - 12, y + 4}, words, "tick", report::Anchor::end);
    const std::array<ShownRate, 3> rates = rates_of(groups[g]);
    for (std::size_t p = 0; p < rates.size(); ++p)
      draw_rate(svg, rates[p], p, y);
  }
  return svg.str();
}

}  // namespace mgpu::jobs
