#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <mgpu/formats/json_value.hpp>

#include "data_file.hpp"
#include "row_index.hpp"

namespace mgpu::input {

/// A row as the file has it.
struct RawRow {
  std::int64_t line = 0;
  formats::JsonValue object;
  std::string problem;  // "" where `object` is one
};

/// The rows of a file by their number in it.
class RowSource {
public:
  virtual ~RowSource() = default;

  /// Rows that follow those of the last call come without a search.
  /// Errors: those of DataFile::read().
  virtual std::vector<RawRow> read(std::int64_t first, std::int64_t count) = 0;
};

/// Memory: `file` and `index` have to outlive it.
std::unique_ptr<RowSource> open_text_rows(const DataFile& file, const RowIndex& index,
                                          const RowOptions& options);

}  // namespace mgpu::input
