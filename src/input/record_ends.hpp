#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "csv_record.hpp"

namespace mgpu::input {

/// Finds the ends of records in a file that arrives in blocks.
class RecordEnds {
public:
  virtual ~RecordEnds() = default;

  /// Returns the offset in `block` just past the end of the current record; npos if the record
  /// continues in the next block.
  virtual std::size_t find_end(std::string_view block) = 0;

  /// Returns whether the text that find_end() completed most recently is a record. The text between
  /// the brackets of an empty list `[]` is no record; every other text is one.
  virtual bool is_record() const { return true; }

  /// Returns whether the file is a JSON list whose end has been found. If so, no record follows.
  virtual bool is_over() const { return false; }

  /// Returns whether the end of the file also ends a record.
  virtual bool ends_with_file() const { return true; }
};

/// Finds records that are one line each.
class LineEnds : public RecordEnds {
public:
  std::size_t find_end(std::string_view block) override;
};

/// Finds records of CSV. A record ends with the first line end outside quotes.
class CsvEnds : public RecordEnds {
public:
  explicit CsvEnds(const CsvRules& rules) : rules_(rules) {}
  std::size_t find_end(std::string_view block) override;

private:
  CsvRules rules_;
  CsvPlace place_ = CsvPlace::cell_begin;
};

/// Finds records that are items of a JSON list. A record includes the comma or bracket after the
/// item. Reading starts after the bracket that opens the list.
class ListEnds : public RecordEnds {
public:
  std::size_t find_end(std::string_view block) override;
  bool is_record() const override { return !is_over() || items_ > 1 || !is_blank_; }
  bool is_over() const override { return depth_ == 0; }
  bool ends_with_file() const override { return false; }

private:
  bool is_end(char byte);

  int depth_ = 1;
  bool is_text_ = false;
  bool is_escaped_ = false;
  bool is_blank_ = true;  // true while the item has only white space
  bool is_first_byte_ = true;
  std::int64_t items_ = 0;
};

/// Returns whether JSON treats the byte as white space.
constexpr bool is_json_blank(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

}  // namespace mgpu::input
