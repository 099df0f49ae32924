#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mgpu::input {

struct CsvRules {
  char separator = ',';
  bool has_quotes = true;  // false: quotes are ordinary characters
};

/// The state of the CSV reader between two bytes. The function csv_place() returns the next state.
enum class CsvPlace { cell_begin, plain, quoted, after_quote, record_end };

/// Returns the state of the CSV reader after `byte`. The function accepts any bytes, because
/// csv_cells() reports violations of RFC 4180. After a violation, a cell ends at the next separator
/// or line end.
inline CsvPlace csv_place(CsvPlace place, char byte, const CsvRules& rules) {
  if (place == CsvPlace::quoted) return byte == '"' ? CsvPlace::after_quote : CsvPlace::quoted;
  if (byte == '\n') return CsvPlace::record_end;
  if (byte == rules.separator) return CsvPlace::cell_begin;
  const bool may_quote = place == CsvPlace::cell_begin || place == CsvPlace::after_quote;
  return byte == '"' && rules.has_quotes && may_quote ? CsvPlace::quoted : CsvPlace::plain;
}

struct CsvCell {
  std::string text;
  bool is_quoted = false;
};

/// Returns the cells of one record. `record` may include the line end after it, "\n" or "\r\n".
/// Errors: RowError for an unclosed quote, a quote inside an unquoted cell, characters after a
///         closing quote, or a "\n" outside quotes that does not end the record.
/// Source: RFC 4180.
std::vector<CsvCell> csv_cells(std::string_view record, const CsvRules& rules);

}  // namespace mgpu::input
