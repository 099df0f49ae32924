#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace mgpu::store {

/// Rows [first, first + rows) of a text column of a result file of this program; fewer where the
/// table ends. Local. Texts lie in HDF5's heap, where a damaged file can make it loop: for files
/// that a run has just sealed, or whose owner asks for them.
///
/// Errors: Failure E603 (missing, exit 66), E605 (no such column, exit 65).
std::vector<std::string> read_texts(const std::filesystem::path& path, const std::string& table,
                                    const std::string& column, std::int64_t first,
                                    std::int64_t rows);

/// Names of the text columns of a table, and of the ragged columns beside the tables, in the order
/// in which they were made. Local. Errors: as read_texts().
std::vector<std::string> text_columns(const std::filesystem::path& path, const std::string& table);
std::vector<std::string> list_columns(const std::filesystem::path& path);

}  // namespace mgpu::store
