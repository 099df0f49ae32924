#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/store/results/table.hpp>

namespace mgpu::store {

/// Encodes the rows of one chunk, column by column, into the payload that ChunkJournal stores.
class ChunkEncoder {
public:
  /// Begins the payload of rows [first_row, first_row + rows) of the table. `spec` must outlive the
  /// encoder. Errors: Error when the table does not have these rows.
  ChunkEncoder(const TableSpec& spec, std::int64_t first_row, std::int64_t rows);

  /// Adds a column of numbers.
  ///
  /// Shapes: values [rows, width], row by row, with ColumnSpec::width.
  /// Errors: Error when the table lacks the column, when the column is text, ragged or of another
  ///         type, or when it is given twice. ShapeError when `values` has another size.
  template <class T>
  void column(std::string_view name, std::span<const T> values) {
    add_numbers(name, column_type<T>(), std::as_bytes(values));
  }

  /// Adds a ragged column, with one list for each row.
  ///
  /// Shapes: lists [rows]; a list of n items has n * width values.
  /// Errors: Error when the table lacks the column, when the column is of another type or not
  ///         ragged, or when it is given twice. ShapeError when the number of lists is wrong, or
  ///         when the length of a list is not a multiple of the width.
  template <class T>
  void lists(std::string_view name, std::span<const std::vector<T>> lists) {
    std::vector<std::span<const std::byte>> bytes;
    for (const std::vector<T>& list : lists)
      bytes.push_back(std::as_bytes(std::span(list)));
    add_lists(name, column_type<T>(), bytes);
  }

  /// Adds a text column. Texts are stored as valid UTF-8 without NUL, which HDF5 and readers of
  /// HDF5 files require. Each NUL and each invalid byte becomes U+FFFD.
  ///
  /// Shapes: values [rows].
  /// Errors: Error when the table lacks the column, or when the column is not text or is given
  ///         twice. ShapeError when the number of texts is wrong.
  void text(std::string_view name, std::span<const std::string> values);

  /// Adds a column without decoding it. `bytes` are the bytes that another payload stores for the
  /// column (ChunkRows::bytes()). In that payload, the column must have the same type, width and
  /// number of rows.
  /// Errors: Error when the table lacks the column, or when the column is given twice.
  void stored(std::string_view name, std::span<const std::byte> bytes);

  /// Returns the finished payload.
  /// Errors: Error when a column of the table is missing.
  std::vector<std::byte> finish();

private:
  void add_numbers(std::string_view name, ColumnType type, std::span<const std::byte> bytes);
  void add_lists(std::string_view name, ColumnType type,
                 std::span<const std::span<const std::byte>> lists);
  std::size_t column_of(std::string_view name, ColumnType type, bool ragged) const;
  void keep(std::size_t column, std::vector<std::byte> bytes);

  const TableSpec* spec_;
  std::int64_t first_row_;
  std::int64_t rows_;
  std::vector<std::vector<std::byte>> columns_;
  std::vector<bool> given_;
};

/// Where a payload stores a column.
struct ColumnPlace {
  std::uint64_t offset = 0;  // bytes from the start of the payload
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // CRC-32C of the column's bytes
};

/// The head of a payload. It contains the place of each column, so that one column can be read
/// without the others.
struct ChunkHead {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::vector<ColumnPlace> columns;

  /// Returns the size, in bytes, of the head of a payload for table `spec`.
  static std::size_t size(const TableSpec& spec);

  /// Reads the head of a payload.
  /// Errors: Failure E604 (exit 80) when `bytes` does not begin with the head of a payload for
  ///         `spec`, or when that payload is not `payload_bytes` long.
  static ChunkHead read(const TableSpec& spec, std::span<const std::byte> bytes,
                        std::uint64_t payload_bytes);
};

/// Returns the texts of a text column, given the bytes that a payload stores for the column.
///
/// Errors: Failure E604 when the stored lengths do not fit the number of bytes.
std::vector<std::string> decode_texts(std::span<const std::byte> bytes, std::int64_t rows);

/// A decoded ragged column.
struct ListBytes {
  std::vector<std::int64_t> lengths;  // [rows], number of items in each row
  std::span<const std::byte> values;  // the items of all rows, in order
};

/// Decodes a ragged column from the bytes that a payload stores for the column. The result refers
/// to `bytes`.
/// Errors: Failure E604 when the stored lengths do not fit the number of bytes.
ListBytes decode_lists(std::span<const std::byte> bytes, std::int64_t rows,
                       const ColumnSpec& column);

}  // namespace mgpu::store
