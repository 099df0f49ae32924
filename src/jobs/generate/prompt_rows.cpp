#include "prompt_rows.hpp"

namespace mgpu::jobs {

std::vector<RowRange> ranges_of(std::span<const std::int64_t> prompt_index) {
  std::vector<RowRange> ranges;
  for (std::size_t row = 0; row < prompt_index.size(); ++row) {
    if (row == 0 || prompt_index[row] != prompt_index[row - 1]) ranges.push_back({row, 0});
    ++ranges.back().count;
  }
  return ranges;
}

const store::ReadColumn* find_column(const store::ReadTable& rows, const std::string& name) {
  for (const store::ReadColumn& column : rows.columns)
    if (column.spec.name == name) return &column;
  return nullptr;
}

}  // namespace mgpu::jobs
