#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/store/results/table.hpp>

#include "inputs.hpp"
#include "question_collector.hpp"

namespace mgpu::jobs {

/// Returns the columns and the size of table `samples` of results.h5 of job collect. The table has
/// one row per question, in the order of the input. The nodes of the tree and the tokens of the
/// paths are lists in the row.
store::TableSpec question_table(const CollectInputs& inputs);

/// Encodes questions with their trees for the journal. The first of `questions` is row `first` of
/// table `samples`.
std::vector<std::byte> question_rows(const CollectInputs& inputs, std::int64_t first,
                                     std::span<const Question> questions,
                                     std::span<const CollectedQuestion> collected);

}  // namespace mgpu::jobs
