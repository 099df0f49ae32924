#pragma once

#include <cstddef>
#include <string>

#include "plots.hpp"

namespace mgpu::jobs {

inline constexpr std::size_t kDrawnPaths = 16;  // only the first paths of a question are drawn
inline constexpr std::size_t kDrawnSteps = 16;  // only the first steps of a path are drawn

/// Returns an HTML table with a row for each of the first 16 solutions of a question, and a column
/// for each of their first 16 steps. A cell shows the value of its step, and has a stronger color
/// for a higher value. The step's text appears on hover, on click, and when the cell has the focus.
std::string html_step_tree(const CollectPlots::Shown& shown);

}  // namespace mgpu::jobs
