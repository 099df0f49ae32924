#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <mgpu/store/read_table.hpp>

namespace mgpu::store {

/// The ragged column arrays/<column> of an HDF5 file, read piece by piece; row r is that of row r
/// of its table. Local.
///
/// Memory: the offsets, 8 bytes a row.
class ListColumn {
public:
  /// Errors: those of read_lists(), but for the checksum of the values.
  ListColumn(const std::filesystem::path& path, const std::string& column);
  ListColumn(ListColumn&&) noexcept;
  ListColumn& operator=(ListColumn&&) noexcept;
  ~ListColumn();

  std::int64_t rows() const { return std::ssize(offsets()) - 1; }
  const ColumnSpec& spec() const;  // of the values

  /// Shapes: [rows + 1], ascending from 0
  std::span<const std::int64_t> offsets() const { return offsets_.values<std::int64_t>(); }
  std::int64_t items_of(std::int64_t row) const;

  /// The lists of rows [first, first + count); its row 0 is row `first`.
  /// Errors: ShapeError for rows that are not there; Failure E605 (exit 65) when the file cannot
  ///         be read.
  ReadLists read(std::int64_t first, std::int64_t count) const;

  /// Values [first, first + count) of all lists, one after the other. Errors: as read().
  ReadColumn read_items(std::int64_t first, std::int64_t count) const;

  /// Reads all values, a few MiB at a time, and compares them with the checksum of the file, where
  /// it has one; returns what they have. Errors: Failure E604 (exit 80); as read().
  std::uint32_t check_bytes() const;

private:
  struct Open;

  std::filesystem::path path_;
  std::string table_;
  std::unique_ptr<Open> open_;
  ReadColumn offsets_;  // [rows + 1] i64
};

/// The number attributes of a group of an HDF5 file: whole numbers to 2^53 exactly. Local.
///
/// Errors: Failure E603 (exit 66, missing), E605 (exit 65, there is no such group).
std::map<std::string, double> read_numbers(const std::filesystem::path& path,
                                           const std::string& group);

}  // namespace mgpu::store
