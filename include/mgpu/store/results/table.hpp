#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/half_float.hpp>

namespace mgpu::store {

enum class ColumnType : std::uint8_t { i32, i64, f32, f64, u8, u16, u32, u64, text, f16 };

/// Returns the size of one element in bytes. It is 1 for text, whose elements are the bytes of its
/// UTF-8.
std::size_t size_of(ColumnType type);
std::string_view name_of(ColumnType type);

/// Returns the column type of a C++ scalar: column_type<float>() is f32.
template <class T>
constexpr ColumnType column_type();
template <>
constexpr ColumnType column_type<std::int32_t>() {
  return ColumnType::i32;
}
template <>
constexpr ColumnType column_type<std::int64_t>() {
  return ColumnType::i64;
}
template <>
constexpr ColumnType column_type<float>() {
  return ColumnType::f32;
}
template <>
constexpr ColumnType column_type<Half>() {
  return ColumnType::f16;
}
template <>
constexpr ColumnType column_type<double>() {
  return ColumnType::f64;
}
template <>
constexpr ColumnType column_type<std::uint8_t>() {
  return ColumnType::u8;
}
template <>
constexpr ColumnType column_type<std::uint16_t>() {
  return ColumnType::u16;
}
template <>
constexpr ColumnType column_type<std::uint32_t>() {
  return ColumnType::u32;
}
template <>
constexpr ColumnType column_type<std::uint64_t>() {
  return ColumnType::u64;
}

struct ColumnSpec {
  std::string name;
  ColumnType type = ColumnType::f32;
  std::int64_t width = 1;   // elements per row, or per item of a list; 1 for text
  std::string description;  // attribute `description` of the data set
  std::string units;        // "nats", "tokens"; "" for none
  bool ragged = false;      // true: a row is a list of any number of items of `width` elements
  std::vector<std::string> names{};  // names of the values 0, 1, ... of a u8 column (HDF5 enum)

  /// Returns whether rows may have different lengths: true for ragged columns, and for texts, which
  /// are lists of bytes.
  bool has_lists() const { return ragged || type == ColumnType::text; }

  /// Returns the size of a row in bytes. In a column with lists, returns the size of one item.
  std::size_t row_bytes() const {
    return static_cast<std::size_t>(width) * mgpu::store::size_of(type);
  }
};

/// One table of a result file: an HDF5 group with a data set per column, [rows] or [rows, width].
///
/// In a table whose rows come from the journal (ChunkedTable), columns of lists or texts are stored
/// outside this group, as Arrow stores lists. Row r of column `x` of table `t` is
/// values[row_offsets[r] : row_offsets[r + 1]]. The data sets `values` and `row_offsets` are in
/// group arrays/t/x. The values of a text are its UTF-8 bytes. A table whose rows come from memory
/// (SmallTable) stores its texts as HDF5 strings in the group.
struct TableSpec {
  std::string path;       // "samples", "metrics/train"; no leading slash
  std::int64_t rows = 0;  // number of rows
  std::vector<ColumnSpec> columns;
  std::string signal;  // NeXus: the column to plot (y axis); "" for none
  std::string axis;    // NeXus: the column of the x axis; "" for none

  /// Checks the members of the table and of its columns.
  /// Errors: Error when a column name is empty, repeated or contains a slash, when a width is not
  ///         positive, or when a text column is ragged or wide. Error when the path is empty or
  ///         begins or ends with a slash, when there are no columns, when `rows` is negative, or
  ///         when `signal` or `axis` is no column. Error when `names` is set for a column that is
  ///         not u8 with one value per row.
  void validate() const;

  /// Returns the index of a column in `columns`. Errors: Error when no column has that name.
  std::size_t column_index(std::string_view name) const;

  /// Returns the CRC-32C of the name, type, width and flag `ragged` of each column, and of the
  /// names of values. A payload stores the fingerprint of its table, and can be read only with a
  /// TableSpec that has the same fingerprint.
  std::uint32_t fingerprint() const;
};

}  // namespace mgpu::store
