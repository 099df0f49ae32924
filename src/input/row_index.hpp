#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/input/row_options.hpp>

#include "data_file.hpp"
#include "record_ends.hpp"

namespace mgpu::input {

/// The place where a row begins.
struct RowMark {
  std::int64_t offset = 0;  // bytes from the start of the file
  std::int64_t line = 1;
};

/// The facts that a rank needs to read the rows of a file.
struct RowIndex {
  static constexpr std::int64_t kRowsPerMark = 32;

  FileStamp stamp;
  std::uint32_t crc = 0;
  RowFormat format = RowFormat::jsonl;  // never RowFormat::automatic
  bool is_list = false;                 // true: the file is one JSON list of objects
  std::int64_t rows = 0;
  std::vector<std::string> columns;  // empty for jsonl
  std::vector<RowMark> marks;        // where rows 0, 32, 64, ... begin; empty for parquet and for
                                     // generated rows

  /// Serializes the index for another rank of the same build.
  std::string to_bytes() const;
  static RowIndex from_bytes(std::string_view bytes);
};

/// Returns the format of the file in `options`, from the key data.format or the file's name.
/// Errors: Failure E532 (exit 65) when neither determines it.
RowFormat format_of(const RowOptions& options);

CsvRules csv_rules(RowFormat format, const RowOptions& options);

/// Makes the object that finds the ends of records in the file that `index` describes.
std::unique_ptr<RecordEnds> make_record_ends(const RowIndex& index, const RowOptions& options);

/// Returns the number of rows of the file, but at most `most`. Stops reading after `most` rows.
///
/// Errors: those of make_row_index(), except for an empty file, a file without rows,
///         duplicate column names, and data after the end of a JSON list.
std::int64_t count_records(const DataFile& file, const RowOptions& options, std::int64_t most);

/// Reads the whole file once, and returns its index.
///
/// Memory: 1 MiB for a block of the file, and 16 bytes per 32 rows.
/// Errors: Failure
///         - E531: the file is empty
///         - E532: its format is unknown or wrong, it has no rows, or two columns have the same
///           name
///         - E534: the file has changed
///         - E535: this build cannot read Parquet
///         - E603: the file cannot be read
RowIndex make_row_index(const DataFile& file, const RowOptions& options);

}  // namespace mgpu::input
