#pragma once

#include <string>
#include <vector>

#include <mgpu/report/classify_report.hpp>

namespace mgpu::report {

/// A curve in the unit square, with the line from corner to corner.
struct UnitChart {
  std::string title;  // for screen readers
  std::string x_label;
  std::string y_label;
  std::string diagonal;  // what the line from corner to corner is
  Curve curve{};
  std::vector<double> low{};         // interval of each point, or none
  std::vector<double> high{};        //
  std::vector<std::string> hover{};  // of each point, with a dot; or none
  std::string note{};                // beside the meaning of the diagonal
  bool has_room_above = false;       // words stand at the upper left, else at the lower right
  std::string css = "c1";
};
std::string svg_unit_chart(const UnitChart& chart);

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

}  // namespace mgpu::report
