#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// Draws a confusion matrix: rows by true and given label, shaded by their share of the true
/// label's rows. Returns "" if there are more labels than fit into the chart; the table shows them.
std::string svg_confusion(const ClassifyPlots& plots);

/// Draws histograms of the probability of the positive label, for rows of that label and for all
/// others, on logarithmic scales. Returns "" without rows.
std::string svg_scores(const ClassifyPlots& plots);

/// Draws the error rates of at most kShownGroups groups with intervals. Returns "" without groups.
std::string svg_group_errors(const std::vector<ClassifyPlots::GroupErrors>& groups);
inline constexpr std::size_t kShownGroups = 40;

/// Draws the samples per second of runs, one bar for each run. Returns "" without runs.
std::string svg_run_speeds(const std::vector<ClassifyPlots::RunSpeed>& runs);

}  // namespace mgpu::jobs
