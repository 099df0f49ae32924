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
/// Draws the path of an episode in a small grid. The line darkens with time. A ring marks the goal,
/// and a hollow dot marks the start.
std::string svg_grid_path(const GridPath& path);

}  // namespace mgpu::recipes
