#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/store/journal/payload_upgrade.hpp>

namespace mgpu::store::test {

/// A journaled chunk, decoded column by column for the tests of tables.
class ChunkValues {
public:
  ChunkValues(TableSpec spec, std::vector<std::byte> payload)
      : spec_(std::move(spec)), payload_(std::move(payload)), rows_(spec_, payload_) {}
  ChunkValues(const ChunkValues&) = delete;
  ChunkValues& operator=(const ChunkValues&) = delete;

  const TableSpec& spec() const { return spec_; }
  std::int64_t first_row() const { return rows_.first_row(); }
  std::int64_t rows() const { return rows_.rows(); }

  template <class T>
  std::vector<T> numbers(const std::string& column) const {
    return rows_.numbers<T>(column);
  }
  std::vector<std::string> texts(const std::string& column) const { return rows_.texts(column); }

  /// Returns the lists of a ragged column, row by row. Each has length * width values.
  template <class T>
  std::vector<std::vector<T>> lists(const std::string& column) const {
    const ColumnSpec& about = spec_.columns[spec_.column_index(column)];
    const ListBytes parts = decode_lists(rows_.bytes(column), rows(), about);
    std::vector<std::vector<T>> lists;
    const std::byte* next = parts.values.data();
    for (const std::int64_t length : parts.lengths) {
      std::vector<T>& list = lists.emplace_back(static_cast<std::size_t>(length * about.width));
      if (!list.empty()) std::memcpy(list.data(), next, list.size() * sizeof(T));
      next += list.size() * sizeof(T);
    }
    return lists;
  }

private:
  TableSpec spec_;
  std::vector<std::byte> payload_;
  ChunkRows rows_;
};

/// Returns the names of the columns of a table, in their order.
inline std::vector<std::string> names_of(const TableSpec& spec) {
  std::vector<std::string> names;
  for (const ColumnSpec& column : spec.columns)
    names.push_back(column.name);
  return names;
}

}  // namespace mgpu::store::test
