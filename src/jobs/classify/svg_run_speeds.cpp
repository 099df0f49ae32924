#include <algorithm>

#include <mgpu/report/svg.hpp>
#include <mgpu/report/text_format.hpp>

#include "charts.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kWidth = 500;
constexpr double kLeft = 206;  // width of the description of a run
constexpr double kRight = 66;  // width of the speed of a run
constexpr double kRow = 28;

std::string words_of(const ClassifyPlots::RunSpeed& run) {
  std::string words = report::grouped(run.ranks) + (run.ranks == 1 ? " rank" : " ranks");
  if (run.ranks_of_copy > 1) words += " by " + report::grouped(run.ranks_of_copy);
  return words + ", batch " + report::grouped(run.batch);
}

}  // namespace

std::string svg_run_speeds(const std::vector<ClassifyPlots::RunSpeed>& runs) {
  double fastest = 0.0;
  for (const ClassifyPlots::RunSpeed& run : runs)
    fastest = std::max(fastest, run.samples_per_second);
  if (fastest <= 0.0) return "";
  report::Svg svg(kWidth, kRow * static_cast<double>(runs.size()) + 4,
                  "Samples per second by ranks and batch");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double y = kRow * static_cast<double>(i) + 2;
    const ClassifyPlots::RunSpeed& run = runs[i];
    const double width = (kWidth - kLeft - kRight) * run.samples_per_second / fastest;
    svg.text({kLeft - 10, y + 16}, words_of(run), run.is_this ? "c1 name" : "tick",
             report::Anchor::end);
    svg.rect({kLeft, y}, {width, kRow - 6}, run.is_this ? "c1 bar" : "ph-other", 2);
    svg.text({kLeft + width + 8, y + 16}, report::rate_text(run.samples_per_second), "tick");
  }
  return svg.str();
}

}  // namespace mgpu::jobs
