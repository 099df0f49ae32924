#pragma once

#include <string>
#include <vector>

#include <mgpu/report/svg_chart.hpp>

namespace mgpu::report {

/// A curve with values from 0 to 1 on both axes, and the diagonal y = x to compare with.
struct UnitChart {
  std::string title;  // for screen readers
  std::string x_label;
  std::string y_label;
  std::string diagonal;  // text that explains the diagonal
  Curve curve{};
  std::vector<double> low{};          // lower end of an interval for each point; or empty
  std::vector<double> high{};         // upper end of the interval for each point
  std::vector<std::string> hover{};   // text for each point, which then has a dot; or empty
  std::vector<std::string> counts{};  // text below a point, above it near the x axis; or empty
  std::string note{};                 // text above `diagonal`
  bool has_room_above = false;  // true: `diagonal`, `note` at the upper left; false: lower right
  std::string css = "c1";
};
std::string svg_unit_chart(const UnitChart& chart);

}  // namespace mgpu::report
