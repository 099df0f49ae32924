#include <algorithm>
#include <string>

#include <mgpu/report/svg.hpp>
#include <mgpu/report/text_format.hpp>

#include "page.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kWidth = 1040;
constexpr double kLeft = 72;  // width of the rank names
constexpr double kChart = 940;
constexpr double kTop = 16;
constexpr double kRow = 26;
constexpr double kBar = 20;
constexpr double kLetter = 8;  // width of a letter in a bar

bool has_run(const StageRow& row) {
  return !row.members.empty() && row.end_s > row.begin_s;
}

std::string hover_of(const StageRow& row) {
  return row.name + " (job " + row.job + "), ranks " + report::rank_list(row.members) + ": " +
         report::text_of("%.1f s to %.1f s, ", row.begin_s, row.end_s) + name_of(row.state);
}

/// Draws the bar of a stage in the row of each of its ranks. The first bar shows the stage's name
/// if the bar is wide enough.
void draw_stage(report::Svg& svg, const StageRow& row, double longest, std::size_t index) {
  const std::string css = "c" + std::to_string(index % 6 + 1) + " bar";
  const double x = kLeft + kChart * row.begin_s / longest;
  const double width = std::max(kChart * (row.end_s - row.begin_s) / longest, 2.0);
  for (const int rank : row.members)
    svg.rect({x, kTop + kRow * rank}, {width, kBar}, css, 2, hover_of(row));
  if (static_cast<double>(row.name.size()) * kLetter + 12 < width)
    svg.text({x + 6, kTop + kRow * row.members.front() + 14}, row.name, "bar-name");
}

void draw_time(report::Svg& svg, double longest, double bottom) {
  const std::vector<double> ticks = report::round_ticks(0.0, longest, 8);
  const double step = ticks.size() > 1 ? ticks[1] - ticks[0] : longest;
  for (const double tick : ticks) {
    if (tick > longest) continue;
    const double x = kLeft + kChart * tick / longest;
    svg.line({x, kTop - 4}, {x, bottom}, "grid");
    svg.text({x, bottom + 16}, report::tick_text(tick, step) + " s", "tick",
             report::Anchor::middle);
  }
}

}  // namespace

std::string svg_stages(const std::vector<StageRow>& rows) {
  double longest = 0.0;
  int ranks = 0;
  for (const StageRow& row : rows) {
    if (!has_run(row)) continue;
    longest = std::max(longest, row.end_s);
    ranks = std::max(ranks, row.members.back() + 1);
  }
  if (ranks == 0) return "";
  const double bottom = kTop + kRow * ranks;
  report::Svg svg(kWidth, bottom + 24, "Stages over time, a line for each rank");
  draw_time(svg, longest, bottom);
  for (int rank = 0; rank < ranks; ++rank)
    svg.text({0, kTop + kRow * rank + 14}, "rank " + std::to_string(rank), "tick");
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (has_run(rows[i])) draw_stage(svg, rows[i], longest, i);
  return svg.str();
}

}  // namespace mgpu::jobs
