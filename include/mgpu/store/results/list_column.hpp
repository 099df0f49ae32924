#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <mgpu/store/results/read_table.hpp>

namespace mgpu::store {

/// A list column of a table of an HDF5 file, read piece by piece. Row r of the column belongs to
/// row r of the table. Local.
class ListColumn {
public:
  /// Opens the column and checks all offsets. Errors: those of read_lists(), except for the
  /// checksum of the values.
  ListColumn(const std::filesystem::path& path, const std::string& table,
             const std::string& column);
  ListColumn(ListColumn&&) noexcept;
  ListColumn& operator=(ListColumn&&) noexcept;
  ~ListColumn();

  std::int64_t rows() const;
  std::int64_t items() const;      // of all rows
  const ColumnSpec& spec() const;  // of the values

  /// Return where a row's values start among the values of all rows, and how many items the row
  /// has. Errors: as read().
  std::int64_t begin_of(std::int64_t row) const;
  std::int64_t items_of(std::int64_t row) const;

  /// Returns whether each row has the same number of values in both columns. Errors: as read().
  bool has_lengths_of(const ListColumn& other) const;

  /// Returns the lists of rows [first, first + count); row 0 of the result is row `first`.
  /// Errors: ShapeError for rows beyond the end; Failure E605 (exit 65) when the file cannot be
  ///         read.
  ReadLists read(std::int64_t first, std::int64_t count) const;

  /// Returns items [first, first + count) of all lists, one after the other. Errors: as read().
  ReadColumn read_items(std::int64_t first, std::int64_t count) const;

  /// Reads all values, a few MiB at a time, and compares them with the checksum of the file, if it
  /// has one. Returns their checksum. Errors: Failure E604 (exit 80); as read().
  std::uint32_t check_bytes() const;

private:
  struct Open;

  /// Shapes: [count + 1], ascending
  std::vector<std::int64_t> offsets(std::int64_t first, std::int64_t count) const;

  std::filesystem::path path_;
  std::string table_;
  std::unique_ptr<Open> open_;
};

/// Returns whether the table has a list column of that name. Local. Errors: Failure E603, E605 when
/// the file is not HDF5.
bool has_lists(const std::filesystem::path& path, const std::string& table,
               const std::string& column);

/// Reads the number attributes of a group of an HDF5 file; whole numbers to 2^53 are exact. Local.
///
/// Errors: Failure E603 (exit 66, missing), E605 (exit 65, there is no such group).
std::map<std::string, double> read_numbers(const std::filesystem::path& path,
                                           const std::string& group);

}  // namespace mgpu::store
