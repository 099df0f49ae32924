#pragma once

#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// Rows by true and given label, shaded by their share of the true label's. "" for more labels
/// than can be drawn, which the table has.
std::string svg_confusion(const ClassifyPictures& pictures);

/// Rows of the positive label and of all others, by the probability of the positive label, on
/// logarithmic scales; "" where there are no rows.
std::string svg_scores(const ClassifyPictures& pictures);

/// Error rates of groups with intervals. At most kShownGroups rows; "" without groups.
std::string svg_group_errors(const std::vector<ClassifyPictures::GroupErrors>& groups);
inline constexpr std::size_t kShownGroups = 40;

/// Samples per second of runs, a bar for each; "" without any.
std::string svg_run_speeds(const std::vector<ClassifyPictures::RunSpeed>& runs);

}  // namespace mgpu::jobs
