#pragma once

#include <string>
#include <vector>

namespace mgpu::report {

/// Bars beside each other, for a histogram or a number per rank.
struct BarChart {
  struct Bar {
    std::string label;  // below it; "" for none
    double value = 0.0;
  };

  std::string title;  // for screen readers
  std::string x_label;
  std::string y_label;
  double width = 520;
  double height = 260;
  std::vector<Bar> bars;
  std::string css = "c1";  // palette entry
};
std::string svg_bars(const BarChart& chart);

/// Whole numbers in at most `count` classes of equal, round width.
std::vector<BarChart::Bar> histogram(const std::vector<std::int64_t>& values, int count);

}  // namespace mgpu::report
