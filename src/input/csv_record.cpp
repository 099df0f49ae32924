#include "csv_record.hpp"

#include "row_error.hpp"

namespace mgpu::input {
namespace {

/// Returns the record without its line end.
std::string_view without_line_end(std::string_view record) {
  if (record.ends_with('\n')) record.remove_suffix(1);
  if (record.ends_with('\r')) record.remove_suffix(1);
  return record;
}

/// Throws RowError if `byte` breaks the rules of quoting. `before` and `after` are the states of
/// the CSV reader before and after `byte`.
void check_quoting(CsvPlace before, char byte, CsvPlace after, const CsvRules& rules) {
  if (!rules.has_quotes || after != CsvPlace::plain) return;
  if (before == CsvPlace::after_quote) throw RowError("characters follow a closing quote");
  if (byte == '"') throw RowError("a quote stands inside of a cell that has no quotes around it");
}

}  // namespace

std::vector<CsvCell> csv_cells(std::string_view record, const CsvRules& rules) {
  std::vector<CsvCell> cells(1);
  CsvPlace place = CsvPlace::cell_begin;
  for (const char byte : without_line_end(record)) {
    const CsvPlace before = place;
    place = csv_place(before, byte, rules);
    check_quoting(before, byte, place, rules);
    if (place == CsvPlace::record_end) throw RowError("it contains a line end");
    if (place == CsvPlace::cell_begin) {
      cells.emplace_back();
    } else if (place == CsvPlace::quoted && before == CsvPlace::cell_begin) {
      cells.back().is_quoted = true;
    } else if (place != CsvPlace::after_quote) {
      cells.back().text += byte;
    }
  }
  if (place == CsvPlace::quoted) throw RowError("a quote is opened and never closed");
  return cells;
}

}  // namespace mgpu::input
