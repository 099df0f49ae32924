#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/store/results/table.hpp>

#include "keys.hpp"
#include "label_scorer.hpp"
#include "samples.hpp"

namespace mgpu::jobs {

/// Table `samples` of results.h5 of job classify: a row per text, in the order of the input, with
/// the columns of guide 003.
store::TableSpec classify_table(std::int64_t rows, const ClassifyConfig& config);

/// The journal payload of the rows from `first` on.
std::vector<std::byte> classify_rows(const store::TableSpec& spec, std::int64_t first,
                                     std::span<const ClassifySample> samples,
                                     std::span<const GivenLabel> given,
                                     const ClassifyConfig& config, const std::string& strategy);

}  // namespace mgpu::jobs
