#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <mgpu/store/results/read_table.hpp>

namespace mgpu::store {

/// A list column in a table of an HDF5 file. Any range of its rows can be read. Row r of the column
/// belongs to row r of the table.
///
/// Ranks:  local.
class ListColumn {
public:
  /// Opens the column, and checks its offsets: they must begin with 0, must not decrease, and must
  /// end with the number of items.
  /// Errors: those of require_sound(); Failure E605 (no such column, or wrong offsets, exit 65),
  ///         E604 (the checksum of the offsets is wrong, exit 80).
  ListColumn(const std::filesystem::path& path, const std::string& table,
             const std::string& column);
  ListColumn(ListColumn&&) noexcept;
  ListColumn& operator=(ListColumn&&) noexcept;
  ~ListColumn();

  std::int64_t rows() const;
  std::int64_t items() const;      // number of items in all rows
  const ColumnSpec& spec() const;  // type and width of the values

  /// begin_of() returns the index of a row's first item among the items of all rows. items_of()
  /// returns the number of items in the row. Errors: those of read().
  std::int64_t begin_of(std::int64_t row) const;
  std::int64_t items_of(std::int64_t row) const;

  /// Returns whether each row has as many items in this column as in `other`. Errors: Failure E605
  /// (exit 65) when a file cannot be read.
  bool has_lengths_of(const ListColumn& other) const;

  /// Returns the lists of rows [first, first + count); row 0 of the result is row `first`.
  /// Errors: ShapeError for rows beyond the end; Failure E605 (exit 65) when the file cannot be
  ///         read.
  ReadLists read(std::int64_t first, std::int64_t count) const;

  /// Returns items [first, first + count), counted over all rows. Errors: ShapeError for items
  /// beyond the end; Failure E605 (exit 65) when the file cannot be read.
  ReadColumn read_items(std::int64_t first, std::int64_t count) const;

  /// Reads all values, a few MiB at a time, and returns their CRC-32C. Compares the CRC-32C with
  /// the checksum in the file, if the file has one.
  /// Errors: Failure E604 (exit 80) when the checksums differ; E605 (exit 65) when the file cannot
  ///         be read.
  std::uint32_t check_bytes() const;

private:
  struct Open;

  /// Returns where the lists of rows [first, first + count) begin, and where the last list ends, as
  /// indices of items.
  /// Shapes: [count + 1], not decreasing
  std::vector<std::int64_t> offsets(std::int64_t first, std::int64_t count) const;

  std::filesystem::path path_;
  std::string table_;
  std::unique_ptr<Open> open_;
};

/// Returns whether the table has a list column named `column`. The items of the lists may be
/// numbers, or the bytes of texts. Ranks:  local. Errors: those of require_sound(); Failure E605
/// (exit 65) when the table cannot be read.
bool has_lists(const std::filesystem::path& path, const std::string& table,
               const std::string& column);

/// Returns, by name, those attributes of an HDF5 group that are single numbers. Whole numbers up to
/// 2^53 are exact.
///
/// Ranks:  local.
/// Errors: those of require_sound(); Failure E605 (exit 65) when there is no such group.
std::map<std::string, double> read_numbers(const std::filesystem::path& path,
                                           const std::string& group);

}  // namespace mgpu::store
