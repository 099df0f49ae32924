#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// Draws a confusion matrix: the numbers of rows by true and predicted label. A cell is darker if
/// it has a larger share of the rows with its true label. Returns an SVG image. Returns "" if no
/// row has a true label, or if there are more than 10 labels. A table on the page shows the matrix
/// for any number of labels.
std::string svg_confusion(const ClassifyPlots& plots);

/// Draws two histograms of the probability of the positive label. One histogram counts the rows
/// whose true label is the positive label, and one counts the rows with another true label. The
/// numbers of rows are on a logarithmic scale. Returns an SVG image; "" if both histograms are
/// empty.
std::string svg_scores(const ClassifyPlots& plots);

/// Draws three rates of each of the first kShownGroups groups of rows (data.columns.group), with
/// confidence intervals: the share of wrong rows, of false positives and of false negatives.
/// Returns an SVG image; "" without groups.
std::string svg_group_errors(const std::vector<ClassifyPlots::GroupErrors>& groups);
inline constexpr std::size_t kShownGroups = 40;

/// Draws a bar for each run with its samples per second. Returns an SVG image; "" if no speed is
/// above 0.
std::string svg_run_speeds(const std::vector<ClassifyPlots::RunSpeed>& runs);

}  // namespace mgpu::jobs
