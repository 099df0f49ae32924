#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "data_file.hpp"
#include "record_ends.hpp"
#include "row_index.hpp"

namespace mgpu::input {

struct Record {
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  std::int64_t line = 0;     // line where the record begins
  std::string text;          // includes the line end, comma or bracket after the record; "" if
                             // is_too_long
  bool is_too_long = false;  // the record is longer than kMaxBytes
};

/// Reads the records of a file in order.
class RecordReader {
public:
  /// Starts to read at `begin`.
  /// Memory: one block of the file and one record. `file` must outlive this object.
  RecordReader(const DataFile& file, std::unique_ptr<RecordEnds> ends, const RowMark& begin);

  /// Reads the next record into `record`. Returns false at the end of the file. Errors: those of
  /// DataFile::read().
  bool next(Record& record);

  /// Returns the position after the last record read.
  const RowMark& position() const { return position_; }

private:
  bool has_bytes();
  void take(Record& record, std::size_t bytes);

  const DataFile* file_;
  std::unique_ptr<RecordEnds> ends_;
  RowMark position_;
  std::string block_;
  std::size_t used_ = 0;  // consumed bytes of the block
};

}  // namespace mgpu::input
