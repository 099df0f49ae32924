#pragma once

#include <vector>

#include <mgpu/store/results/small_table.hpp>

#include "page.hpp"

namespace mgpu::jobs {

/// Returns the tables `confusion`, `metrics`, `groups` and, if labels have probabilities,
/// `calibration` of results.h5.
std::vector<store::SmallTable> small_tables(const ClassifyPlots& plots);

}  // namespace mgpu::jobs
