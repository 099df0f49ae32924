#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "csv_record.hpp"

namespace mgpu::input {

/// Finds where records end, in a file that comes in blocks.
class RecordEnds {
public:
  virtual ~RecordEnds() = default;

  /// The offset behind the end of the record that `block` goes on with; npos when it ends later.
  virtual std::size_t find_end(std::string_view block) = 0;

  /// Whether what ended is a record: all but the nothing between `[` and `]`.
  virtual bool is_record() const { return true; }

  /// Whether there may be no more records: the list is closed.
  virtual bool is_over() const { return false; }

  /// Whether the end of the file ends the last record like any other.
  virtual bool ends_with_file() const { return true; }
};

/// A record ends with its line.
class LineEnds : public RecordEnds {
public:
  std::size_t find_end(std::string_view block) override;
};

/// A record ends with a line that ends outside of quotes.
class CsvEnds : public RecordEnds {
public:
  explicit CsvEnds(const CsvRules& rules) : rules_(rules) {}
  std::size_t find_end(std::string_view block) override;

private:
  CsvRules rules_;
  CsvPlace place_ = CsvPlace::cell_begin;
};

/// A record is an item of a JSON list, with the comma or bracket behind it; begins behind the
/// bracket that opens the list.
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
  bool is_blank_ = true;  // the item, so far
  bool is_first_byte_ = true;
  std::int64_t items_ = 0;
};

/// Whether JSON takes the byte for white space.
constexpr bool is_json_blank(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

}  // namespace mgpu::input
