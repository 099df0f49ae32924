#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/store/results/read_table.hpp>

// Finds columns and the rows of each prompt in table `samples`.
namespace mgpu::jobs {

/// The rows of one prompt, which are adjacent: `count` rows from row `first` on.
struct RowRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Returns the rows of each prompt. The element prompt_index[row] is the prompt of a row. The rows
/// of a prompt must be adjacent.
std::vector<RowRange> ranges_of(std::span<const std::int64_t> prompt_index);

/// Returns the column with this name; nullptr if the table lacks it.
const store::ReadColumn* find_column(const store::ReadTable& rows, const std::string& name);

}  // namespace mgpu::jobs
