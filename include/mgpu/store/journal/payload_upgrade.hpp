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

/// The rows of a journaled chunk, column by column.
class ChunkRows {
public:
  /// `payload` has to outlive this object. Errors: Failure E604 when it is not a chunk of `spec`.
  ChunkRows(const TableSpec& spec, std::span<const std::byte> payload);

  std::int64_t first_row() const { return head_.first_row; }
  std::int64_t rows() const { return head_.rows; }

  /// Returns the stored bytes of a column. Errors: Error when there is no such column.
  std::span<const std::byte> bytes(std::string_view column) const;

  /// Returns the values of a column of numbers. Errors: Error when the column has another type.
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

/// Converts chunks of a table from format 1 to the current format.
class PayloadUpgrade {
public:
  /// Computes one column of the new chunk from the old chunk, and adds it to the encoder.
  using Make = std::function<void(const ChunkRows& old, ChunkEncoder& encoder)>;

  /// `order` names the columns of format 1 in their order. `others` specifies those that `table`
  /// lacks or gives another type; the remaining ones have the type in `table`. `make` computes the
  /// columns of `table` that are not copied.
  /// Errors: Error for a column that is neither old nor made.
  PayloadUpgrade(TableSpec table, const std::vector<std::string>& order,
                 const std::vector<ColumnSpec>& others, std::map<std::string, Make> make);

  /// Converts one chunk. Errors: Failure E604 when the bytes are not a chunk of the old table.
  std::vector<std::byte> operator()(std::span<const std::byte> payload) const;

private:
  TableSpec table_;
  TableSpec old_;
  std::map<std::string, Make> make_;
};

}  // namespace mgpu::store
