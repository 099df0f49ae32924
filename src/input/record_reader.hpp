#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data_file.hpp"
#include "record_ends.hpp"
#include "row_index.hpp"

namespace mgpu::input {

struct Record {
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  std::int64_t line = 0;     // where it begins
  std::string text;          // with its end; nothing of a record that is too long
  bool is_too_long = false;  // longer than kMaxBytes
};

/// The records of a file, one after the other.
class RecordReader {
public:
  /// Memory: `file` has to outlive it; a block and a record.
  RecordReader(const DataFile& file, std::unique_ptr<RecordEnds> ends, const RowMark& begin);

  /// False where the file has ended. Errors: those of DataFile::read().
  bool next(Record& record);

  /// Behind what was read.
  const RowMark& position() const { return position_; }

private:
  bool has_bytes();
  void take(Record& record, std::size_t bytes);

  const DataFile* file_;
  std::unique_ptr<RecordEnds> ends_;
  RowMark position_;
  std::string block_;
  std::size_t used_ = 0;  // bytes of the block
};

}  // namespace mgpu::input
