#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/store/results/table.hpp>

namespace mgpu::store {

/// One number column in host memory.
struct ReadColumn {
  ColumnSpec spec;               // read_table() leaves `description` and `units` empty
  std::vector<std::byte> bytes;  // [rows, width], little-endian

  /// Returns all values of the column, row by row. Errors: Error when the column has another type.
  template <class T>
  std::span<const T> values() const {
    if (column_type<T>() != spec.type) {
      throw Error("column '" + spec.name + "' is " + std::string(name_of(spec.type)));
    }
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

struct ReadTable {
  std::int64_t rows = 0;
  std::int64_t missing_rows = 0;  // from read_table(): missing rows of all tables of the file; from
                                  // read_chunks(): missing rows of this table
  std::vector<ReadColumn> columns;

  /// Returns a number column by name. Errors: Failure E605 (exit 65) when the table has no such
  /// number column.
  const ReadColumn& column(std::string_view name) const;
};

/// Reads the number columns of one table of an HDF5 file on every rank; texts and lists are left
/// out.
///
/// Rank 0 reads the file, and broadcasts the data to the other ranks. The file is not trusted:
/// types, shapes, lengths, links and sizes are checked, and the CRC-32C if the file has one.
///
/// Memory: the columns, on every rank.
/// Ranks:  collective over `group`.
/// Errors: the same Failure on all ranks: E603 (exit 66, missing), E605 (exit 65, not a table that
///         this program reads), E604 (exit 80, the bytes are not those written).
ReadTable read_table(const cluster::Group& group, const std::filesystem::path& path,
                     const std::string& table);

/// Does the same as read_table() with a group, but on this process alone.
/// Ranks:  local.
ReadTable read_table(const std::filesystem::path& path, const std::string& table);

/// Returns whether the file begins with the signature of HDF5 files. Any rank may call it alone.
bool looks_like_hdf5(const std::filesystem::path& path);

/// A list column in host memory.
struct ReadLists {
  ReadColumn offsets;  // [rows + 1] i64: index of each row's first item, then the number of items
  ReadColumn values;   // [items] or [items, width]

  std::int64_t rows() const { return std::ssize(offsets.values<std::int64_t>()) - 1; }

  /// Returns the list of one row: its items in order, each of `values.spec.width` values. Errors:
  /// Error when the values have another type.
  template <class T>
  std::span<const T> row(std::int64_t row) const {
    const std::span<const std::int64_t> at =
        offsets.values<std::int64_t>().subspan(static_cast<std::size_t>(row), 2);
    const auto width = static_cast<std::size_t>(values.spec.width);
    return values.values<T>().subspan(static_cast<std::size_t>(at[0]) * width,
                                      static_cast<std::size_t>(at[1] - at[0]) * width);
  }
};

/// Reads a list column in a table of an HDF5 file; row r of the column belongs to row r of the
/// table. The file is checked as by read_table().
///
/// Ranks:  local.
/// Memory: the column.
/// Errors: Failure E603 (exit 66, missing file); E604 (exit 80, the bytes are not those written).
///         E605 (exit 65): no such column, or offsets that do not ascend from 0 to the number of
///         items.
ReadLists read_lists(const std::filesystem::path& path, const std::string& table,
                     const std::string& column);

}  // namespace mgpu::store
