#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/jobs/classify_config.hpp>
#include <mgpu/jobs/classify_samples.hpp>
#include <mgpu/jobs/label_model.hpp>
#include <mgpu/store/table.hpp>

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
