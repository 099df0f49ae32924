#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>

namespace mgpu::store {

/// Writes a table of a result file as JSON lines, one object per row, and returns the number of
/// rows. Each object has the row's numbers, texts and lists. A list column is left out if its
/// number of rows differs from that of the table. Numbers have enough digits to restore their exact
/// values; NaN and infinity become null. A number with a name (ColumnSpec::names) becomes the name.
///
/// Memory: the table's numbers and lists, and 4096 rows of texts.
/// Ranks:  local.
/// Errors: those of read_table(), read_lists() and TextColumn.
std::int64_t export_json_lines(const std::filesystem::path& path, const std::string& table,
                               std::ostream& out);

}  // namespace mgpu::store
