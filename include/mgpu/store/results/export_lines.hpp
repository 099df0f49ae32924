#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>

namespace mgpu::store {

/// Writes a table of a result file as JSON lines. Each row is an object with its numbers, its
/// texts, and its lists from columns that have as many rows as the table. Numbers have enough
/// digits to read back exactly; NaN is null. Local. Returns the number of rows.
///
/// Memory: the table's numbers, and 4096 rows of texts.
/// Errors: those of read_table(), read_lists() and read_texts().
std::int64_t export_json_lines(const std::filesystem::path& path, const std::string& table,
                               std::ostream& out);

}  // namespace mgpu::store
