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

/// A row with the column names of the file. Only its syntax has been checked.
struct RawRow {
  std::int64_t line = 0;
  formats::JsonValue object;
  std::string problem;  // why the row is unusable; "" if `object` is valid
};

/// Reads rows by their index in the file, counted from 0.
class RowSource {
public:
  virtual ~RowSource() = default;

  /// Reads `count` rows, beginning with row `first`. A call is fast if its rows follow those of the
  /// previous call.
  /// Errors: those of DataFile::read(); for Parquet also Failure E532.
  virtual std::vector<RawRow> read(std::int64_t first, std::int64_t count) = 0;
};

/// Opens the rows of a file in JSON Lines, JSON, CSV or TSV.
/// Memory: `file`, `index` and `options` must outlive the result.
std::unique_ptr<RowSource> open_text_rows(const DataFile& file, const RowIndex& index,
                                          const RowOptions& options);

/// Opens rows that the program generates.
/// Memory: `rows` must outlive the result.
std::unique_ptr<RowSource> open_generated_rows(const GeneratedRows& rows);

/// Generates all rows once, and returns an index with their number, size in bytes and checksum.
RowIndex index_generated_rows(const GeneratedRows& rows);

}  // namespace mgpu::input
