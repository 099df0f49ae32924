#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mgpu::recipes {

/// The path of one episode on the grid.
struct GridPath {
  std::vector<std::pair<int, int>> cells;  // visited, start first
  std::pair<int, int> goal;
  int grid = 9;
  std::string title;
};
/// Draws the path in a small grid. It darkens with time; the goal is a ring, the start a hollow
/// dot.
std::string svg_grid_path(const GridPath& path);

}  // namespace mgpu::recipes
