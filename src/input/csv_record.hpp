#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mgpu::input {

struct CsvRules {
  char separator = ',';
  bool has_quotes = true;  // false: a quote is a character like others
};

/// Where a reader of CSV stands between two bytes.
enum class CsvPlace { cell_begin, plain, quoted, behind_quote, record_end };

/// The place behind `byte`. Nothing in a file stops it: what RFC 4180 does not allow is told by
/// csv_cells(), and ends where it most probably was meant to.
inline CsvPlace csv_place(CsvPlace place, char byte, const CsvRules& rules) {
  if (place == CsvPlace::quoted) return byte == '"' ? CsvPlace::behind_quote : CsvPlace::quoted;
  if (byte == '\n') return CsvPlace::record_end;
  if (byte == rules.separator) return CsvPlace::cell_begin;
  const bool may_quote = place == CsvPlace::cell_begin || place == CsvPlace::behind_quote;
  return byte == '"' && rules.has_quotes && may_quote ? CsvPlace::quoted : CsvPlace::plain;
}

struct CsvCell {
  std::string text;
  bool is_quoted = false;
};

/// The cells of one record, which may end with its line feed.
///
/// Errors: RowError: a quote that is not closed, or inside of a cell without quotes; characters
///         behind a closing quote.
/// Source: RFC 4180.
std::vector<CsvCell> csv_cells(std::string_view record, const CsvRules& rules);

}  // namespace mgpu::input
