#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/input/generated_rows.hpp>

#include "data_file.hpp"
#include "row_index.hpp"

namespace mgpu::input {

/// A row with the file's column names.
struct RawRow {
  std::int64_t line = 0;
  formats::JsonValue object;
  std::string problem;  // "" if `object` is valid
};

/// Reads the rows of a file by number.
class RowSource {
public:
  virtual ~RowSource() = default;

  /// Reads `count` rows, beginning with row `first`. Rows that follow those of the last call need
  /// no search.
  /// Errors: those of DataFile::read().
  virtual std::vector<RawRow> read(std::int64_t first, std::int64_t count) = 0;
};

/// Memory: `file`, `index` and `options` must outlive the result.
std::unique_ptr<RowSource> open_text_rows(const DataFile& file, const RowIndex& index,
                                          const RowOptions& options);

/// Memory: `rows` must outlive the result.
std::unique_ptr<RowSource> open_generated_rows(const GeneratedRows& rows);

/// Generates all rows once, for their number, bytes and checksum.
RowIndex index_generated_rows(const GeneratedRows& rows);

}  // namespace mgpu::input
