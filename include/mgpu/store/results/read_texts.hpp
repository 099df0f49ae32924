#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mgpu::store {

/// A text column of a result file, read piece by piece. Local.
///
/// Texts of format 1, and of small tables of both formats, are HDF5 strings. Strings of format 1
/// lie in HDF5's heap, where a damaged file can send the library into an endless loop. Open such
/// files only when their owner asks for it.
class TextColumn {
public:
  /// Opens the column and checks all offsets. Errors: Failure E603 (missing, exit 66), E605 (no
  /// such column, exit 65), E604 (the offsets are damaged, exit 80).
  TextColumn(const std::filesystem::path& path, const std::string& table,
             const std::string& column);
  TextColumn(TextColumn&&) noexcept;
  TextColumn& operator=(TextColumn&&) noexcept;
  ~TextColumn();

  std::int64_t rows() const;

  /// Returns rows [first, first + rows), fewer where the table ends. Errors: Failure E605.
  std::vector<std::string> read(std::int64_t first, std::int64_t rows) const;

  /// Reads all texts and compares them with the checksum of the file; checksums of HDF5 strings are
  /// not compared. Errors: Failure E604 (exit 80).
  void check_bytes() const;

private:
  struct Open;
  std::unique_ptr<Open> open_;
};

/// Returns a few rows of a text column. Errors: those of TextColumn.
std::vector<std::string> read_texts(const std::filesystem::path& path, const std::string& table,
                                    const std::string& column, std::int64_t first,
                                    std::int64_t rows);

/// Return the names of the text columns of a table, or of its list columns of numbers, in order of
/// creation. Local. Errors: Failure E603, E605.
std::vector<std::string> text_columns(const std::filesystem::path& path, const std::string& table);
std::vector<std::string> list_columns(const std::filesystem::path& path, const std::string& table);

}  // namespace mgpu::store
