#include "svg_grid_path.hpp"

#include <algorithm>

#include <mgpu/report/svg.hpp>

namespace mgpu::recipes {
namespace {

constexpr double kSide = 120;  // pixels of the whole grid

}  // namespace

std::string svg_grid_path(const GridPath& path) {
  const double cell = kSide / path.grid;
  report::Svg svg(kSide, kSide, path.title);
  svg.rect({0, 0}, {kSide, kSide}, "room", 3);
  for (int i = 1; i < path.grid; ++i) {
    svg.line({cell * i, 0}, {cell * i, kSide}, "wall");
    svg.line({0, cell * i}, {kSide, cell * i}, "wall");
  }
  // The y axis points up in the grid, and down in the picture.
  const auto center = [&](std::pair<int, int> at) {
    return report::Point{cell * (at.first + 0.5), kSide - cell * (at.second + 0.5)};
  };
  const report::Point goal = center(path.goal);
  svg.rect({goal.x - cell / 2, goal.y - cell / 2}, {cell, cell}, "goal");
  // Each step of the agent is shifted a little further to the lower right. So the way to a cell and
  // the way back are drawn next to each other.
  const auto count = static_cast<double>(path.cells.size());
  const auto moment = [&](std::size_t t) {
    const double shift = cell * 0.36 * (static_cast<double>(t) / std::max(count - 1, 1.0) - 0.5);
    const report::Point at = center(path.cells[t]);
    return report::Point{at.x + shift, at.y + shift};
  };
  for (std::size_t t = 1; t < path.cells.size(); ++t) {
    svg.open("", 0.35 + 0.65 * static_cast<double>(t) / count);
    svg.line(moment(t - 1), moment(t), "step");
    svg.close();
  }
  if (!path.cells.empty()) {
    svg.circle(moment(0), cell * 0.24, "start");
    svg.circle(moment(path.cells.size() - 1), cell * 0.24, "stop");
  }
  return svg.str();
}

}  // namespace mgpu::recipes
