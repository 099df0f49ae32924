#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/rows/row_facts.hpp>
#include <mgpu/store/results/table.hpp>

#include "inputs.hpp"
#include "label_scorer.hpp"
#include "samples.hpp"

namespace mgpu::jobs {

/// What became of a row in one word: that of its status, or "unknown" where the model saw the row
/// and its answer names no label. `label`: index of the label that was found, -1 for none.
std::string outcome_of(rows::RowStatus status, std::int32_t label);

/// Table `samples` of results.h5 of job classify: a row per text, in the order of the input.
store::TableSpec classify_table(const ClassifyInputs& inputs);

/// The journal payload of the rows from `first` on.
std::vector<std::byte> classify_rows(const ClassifyInputs& inputs, std::int64_t first,
                                     std::span<const ClassifySample> samples,
                                     std::span<const GivenLabel> given);

}  // namespace mgpu::jobs
