#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>

namespace mgpu::store {

/// Writes a table of a result file as JSON lines: an object per row with its numbers, texts and
/// the ragged columns that have as many rows. Numbers have as many digits as give the same number
/// again; NaN is null. Local. Returns the number of rows.
///
/// Memory: the table's numbers, and 4096 rows of texts.
/// Errors: those of read_table(), read_lists() and read_texts().
std::int64_t export_json_lines(const std::filesystem::path& path, const std::string& table,
                               std::ostream& out);

}  // namespace mgpu::store
