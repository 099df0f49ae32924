#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/store/journal/chunk_payload.hpp>
#include <mgpu/store/results/table.hpp>

namespace mgpu::store {

/// Reads the columns of one chunk from its payload in the journal.
class ChunkRows {
public:
  /// `spec` and `payload` have to outlive this object. Errors: Failure E604 when `payload` is not a
  /// chunk of `spec`.
  ChunkRows(const TableSpec& spec, std::span<const std::byte> payload);

  std::int64_t first_row() const { return head_.first_row; }
  std::int64_t rows() const { return head_.rows; }

  /// Returns the bytes that the payload stores for a column. Errors: Error when there is no such
  /// column.
  std::span<const std::byte> bytes(std::string_view column) const;

  /// Returns the values of a column of numbers, row by row.
  /// Errors: Error when the type of the column is not T, or the column is ragged.
  template <class T>
  std::vector<T> numbers(std::string_view column) const {
    require_type(column, column_type<T>());
    std::vector<T> values(bytes(column).size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes(column).data(), bytes(column).size());
    return values;
  }

  std::vector<std::string> texts(std::string_view column) const;

private:
  void require_type(std::string_view column, ColumnType type) const;

  const TableSpec& spec_;
  std::span<const std::byte> payload_;
  ChunkHead head_;
};

/// Converts the chunks of one table from run format 1 to the current format (see format_of_run()).
class PayloadUpgrade {
public:
  /// Computes one column of the new chunk from the old chunk, and adds the column to the encoder.
  using Make = std::function<void(const ChunkRows& old, ChunkEncoder& encoder)>;

  /// `table` is the table in the current format. `order` names the columns that the table has in
  /// format 1, in order. `others` describes the columns of format 1 that `table` lacks or has with
  /// another type. `make` maps the name of a column to the function that computes the column; the
  /// other columns of `table` are copied. A name in `order` is skipped if neither `table` nor
  /// `others` has it, because some columns exist only in some configurations.
  /// Errors: Error when a column of `table` is neither in format 1 nor in `make`.
  PayloadUpgrade(TableSpec table, const std::vector<std::string>& order,
                 const std::vector<ColumnSpec>& others, std::map<std::string, Make> make);

  /// Converts the payload of one chunk. Errors: Failure E604 when the bytes are not a chunk of the
  /// table in format 1.
  std::vector<std::byte> operator()(std::span<const std::byte> payload) const;

private:
  TableSpec table_;
  TableSpec old_;
  std::map<std::string, Make> make_;
};

}  // namespace mgpu::store
