#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan_simulation.hpp"

namespace mgpu::jobs {

/// Returns the letter that stands for a stage in a chart: a to z, then A to Z, then again from a.
char letter_of(std::size_t stage);

/// Formats a time in seconds for a plan: "12.345 s" below a minute, else "0:02:10".
std::string plan_time(double seconds);

/// Draws as text which stage each rank runs over time. The first line is a heading with the scale.
/// Each other line shows letter_of() of the stages that a rank runs, and `.` where the rank is
/// idle. Ranks with equal lines share one line. At most 16 lines of ranks are shown, and a last
/// line gives the number of lines left out. Returns no lines if no stage takes time.
std::vector<std::string> chart_lines(const std::vector<SimulatedStage>& stages, int ranks);

/// Formats a table as lines in which the columns are aligned. All rows must have the same number of
/// cells.
std::vector<std::string> table_lines(const std::vector<std::vector<std::string>>& rows);

}  // namespace mgpu::jobs
