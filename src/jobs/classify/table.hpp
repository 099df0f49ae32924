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

/// Returns the outcome of a row in one word: the name of its status, or "unknown" if the model saw
/// the row but gave it no label. `label` is the index of the label that the model gave, or -1.
std::string outcome_of(rows::RowStatus status, std::int32_t label);

/// Returns the columns and the size of table `samples` of results.h5 of job classify. The table
/// has one row per text, in the order of the input.
store::TableSpec classify_table(const ClassifyInputs& inputs);

/// Encodes rows for the journal. The first of these rows is row `first` of the table.
std::vector<std::byte> classify_rows(const ClassifyInputs& inputs, std::int64_t first,
                                     std::span<const ClassifySample> samples,
                                     std::span<const GivenLabel> given);

}  // namespace mgpu::jobs
