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

/// Where a row begins.
struct RowMark {
  std::int64_t offset = 0;  // bytes
  std::int64_t line = 1;
};

/// What one rank has to know of a file so that all can read it.
struct RowIndex {
  static constexpr std::int64_t kRowsPerMark = 32;

  FileStamp stamp;
  std::uint32_t crc = 0;
  RowFormat format = RowFormat::jsonl;  // never automatic
  bool is_list = false;                 // jsonl: one list of objects
  std::int64_t rows = 0;
  std::vector<std::string> columns;  // csv, tsv, parquet
  std::vector<RowMark> marks;        // of row 0, 32, 64, ...; none of parquet

  /// For another rank of the same build.
  std::string to_bytes() const;
  static RowIndex from_bytes(std::string_view bytes);
};

/// The format of the file by key and name.
/// Errors: Failure E532 where neither tells.
RowFormat format_of(const RowOptions& options);

CsvRules csv_rules(RowFormat format, const RowOptions& options);

/// What finds the ends of the records that the index counts.
std::unique_ptr<RecordEnds> make_record_ends(const RowIndex& index, const RowOptions& options);

/// Reads the whole file once.
///
/// Memory: a block, 16 bytes for 32 rows.
/// Errors: Failure E531 (empty), E532 (not of its format), E534, E535, E603.
RowIndex make_row_index(const DataFile& file, const RowOptions& options);

}  // namespace mgpu::input
