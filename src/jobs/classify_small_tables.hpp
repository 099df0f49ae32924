#pragma once

#include <vector>

#include <mgpu/report/classify_report.hpp>
#include <mgpu/store/small_table.hpp>

namespace mgpu::jobs {

/// Tables `confusion`, `metrics`, `groups` and, where labels have probabilities, `calibration`.
std::vector<store::SmallTable> small_tables(const report::ClassifyPictures& pictures);

}  // namespace mgpu::jobs
