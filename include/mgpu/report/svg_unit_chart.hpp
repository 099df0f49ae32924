#pragma once

#include <string>
#include <vector>

#include <mgpu/report/svg_chart.hpp>

namespace mgpu::report {

/// A curve in the unit square, with its diagonal.
struct UnitChart {
  std::string title;  // for screen readers
  std::string x_label;
  std::string y_label;
  std::string diagonal;  // meaning of the diagonal
  Curve curve{};
  std::vector<double> low{};         // interval of each point, or none
  std::vector<double> high{};        //
  std::vector<std::string> hover{};  // of each point, which then has a dot; or none
  std::string note{};                // next to the meaning of the diagonal
  bool has_room_above = false;       // text at the upper left, else at the lower right
  std::string css = "c1";
};
std::string svg_unit_chart(const UnitChart& chart);

}  // namespace mgpu::report
