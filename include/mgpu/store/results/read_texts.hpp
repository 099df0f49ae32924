#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mgpu::store {

/// A text column of a result file. Any range of its rows can be read.
///
/// Texts are HDF5 strings in files of the old format 1, and in the small tables (SmallTable) of all
/// files. Files of format 1 store these strings in HDF5's heap. A damaged heap can send the HDF5
/// library into an endless loop. So open a file of format 1 only at the request of the user who
/// owns it.
/// Ranks:  local.
class TextColumn {
public:
  /// Opens the column and checks all offsets. Errors: those of require_sound(); Failure E605 (no
  /// such column, or wrong offsets, exit 65), E604 (the checksum of the offsets is wrong, exit 80).
  TextColumn(const std::filesystem::path& path, const std::string& table,
             const std::string& column);
  TextColumn(TextColumn&&) noexcept;
  TextColumn& operator=(TextColumn&&) noexcept;
  ~TextColumn();

  std::int64_t rows() const;

  /// Returns the texts of rows [first, first + rows), or of fewer rows if the table ends earlier.
  /// Errors: Failure E605 (exit 65) when the file cannot be read.
  std::vector<std::string> read(std::int64_t first, std::int64_t rows) const;

  /// Reads all texts and compares their CRC-32C with the checksum in the file. Does nothing for
  /// columns of HDF5 strings.
  /// Errors: Failure E604 (exit 80) when the checksums differ; E605 (exit 65) when the file cannot
  ///         be read.
  void check_bytes() const;

private:
  struct Open;
  std::unique_ptr<Open> open_;
};

/// Returns the texts of rows [first, first + rows) of a text column, or of fewer rows if the table
/// ends earlier.
/// Ranks:  local.
/// Errors: those of the constructor of TextColumn and of TextColumn::read().
std::vector<std::string> read_texts(const std::filesystem::path& path, const std::string& table,
                                    const std::string& column, std::int64_t first,
                                    std::int64_t rows);

/// text_columns() returns the names of a table's text columns, and list_columns() those of its list
/// columns of numbers. Names are in the order of creation if the file has recorded this order, else
/// sorted.
/// Ranks:  local.
/// Errors: those of require_sound(); Failure E605 (exit 65) when the table cannot be read.
std::vector<std::string> text_columns(const std::filesystem::path& path, const std::string& table);
std::vector<std::string> list_columns(const std::filesystem::path& path, const std::string& table);

}  // namespace mgpu::store
