#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mgpu::recipes {

/// The path of one episode on the grid.
struct GridPath {
  std::vector<std::pair<int, int>> cells;  // visited cells in order, beginning with the start
  std::pair<int, int> goal;
  int grid = 9;
  std::string title;
};
/// Returns a drawing of the path of an episode in a small grid, as SVG. The line is faint at the
/// start and becomes opaque with time. A colored cell marks the goal, a hollow dot the start, and a
/// filled dot the end.
std::string svg_grid_path(const GridPath& path);

}  // namespace mgpu::recipes
