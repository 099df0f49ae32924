#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <mgpu/store/journal/chunk_payload.hpp>
#include <mgpu/store/results/table.hpp>

namespace mgpu::store {

/// Describes the columns of a result table whose rows are made from objects of type Row. Each
/// column has a description, which the file stores, and a function that returns the column's value
/// for a Row. Columns are stored in the order in which they are added.
template <class Row>
class Columns {
public:
  /// The description of a column in a result file.
  struct About {
    std::string name;
    std::string description;
    std::string units{};  // "nats", "tokens"; "" for none
  };

  /// Adds a column of the type that `get(row)` returns: a number, a std::string, or a std::vector
  /// of numbers. A vector is a list, whose length may differ from row to row. Each item of the list
  /// has `width` numbers.
  ///
  /// Shapes: a list of n items is a vector of n * width numbers.
  template <std::invocable<const Row&> Get>
  void add(About about, Get get, std::int64_t width = 1) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Get, const Row&>>;
    if constexpr (std::is_same_v<Value, std::string>) {
      put(std::move(about), ColumnType::text, 1, false, texts(std::move(get)));
    } else if constexpr (requires { typename Value::value_type; }) {
      using Item = typename Value::value_type;
      put(std::move(about), column_type<Item>(), width, true, lists<Item>(std::move(get)));
    } else {
      put(std::move(about), column_type<Value>(), 1, false, numbers<Value>(std::move(get)));
    }
  }

  /// Adds a column with `width` numbers per row. `get(row)` returns these numbers as a std::vector.
  template <std::invocable<const Row&> Get>
  void add_wide(About about, std::int64_t width, Get get) {
    using Item = typename std::remove_cvref_t<std::invoke_result_t<Get, const Row&>>::value_type;
    put(std::move(about), column_type<Item>(), width, false, wide<Item>(std::move(get)));
  }

  /// Adds a u8 column. `get(row)` returns a code from 0 to names.size() - 1, and `names` has the
  /// name of each code.
  template <std::invocable<const Row&> Get>
  void add_code(About about, std::vector<std::string> names, Get get) {
    const auto code = [get = std::move(get)](const Row& row) {
      return static_cast<std::uint8_t>(get(row));
    };
    put(std::move(about), ColumnType::u8, 1, false, numbers<std::uint8_t>(code));
    specs_.back().names = std::move(names);
  }

  /// Returns the description of a table of `rows` rows with these columns.
  TableSpec table(std::string path, std::int64_t rows) const {
    return {std::move(path), rows, specs_, "", ""};
  }

  /// Encodes `values` as a payload for ChunkJournal::append(). `values` are the rows of `table`
  /// from row `first` on.
  ///
  /// Errors: those of ChunkEncoder.
  std::vector<std::byte> encode(const TableSpec& table, std::int64_t first,
                                std::span<const Row> values) const {
    ChunkEncoder encoder(table, first, std::ssize(values));
    for (std::size_t i = 0; i < specs_.size(); ++i)
      put_[i](encoder, specs_[i].name, values);
    return encoder.finish();
  }

private:
  using Put = std::function<void(ChunkEncoder&, const std::string&, std::span<const Row>)>;

  void put(About about, ColumnType type, std::int64_t width, bool ragged, Put put) {
    specs_.push_back({std::move(about.name), type, width, std::move(about.description),
                      std::move(about.units), ragged});
    put_.push_back(std::move(put));
  }

  template <class T, class Get>
  static Put numbers(Get get) {
    return [get = std::move(get)](ChunkEncoder& encoder, const std::string& name,
                                  std::span<const Row> rows) {
      std::vector<T> values;
      for (const Row& row : rows)
        values.push_back(get(row));
      encoder.column(name, std::span<const T>(values));
    };
  }

  template <class T, class Get>
  static Put wide(Get get) {
    return [get = std::move(get)](ChunkEncoder& encoder, const std::string& name,
                                  std::span<const Row> rows) {
      std::vector<T> values;
      for (const Row& row : rows)
        for (const T value : get(row))
          values.push_back(value);
      encoder.column(name, std::span<const T>(values));
    };
  }

  template <class T, class Get>
  static Put lists(Get get) {
    return [get = std::move(get)](ChunkEncoder& encoder, const std::string& name,
                                  std::span<const Row> rows) {
      std::vector<std::vector<T>> values;
      for (const Row& row : rows)
        values.push_back(get(row));
      encoder.lists(name, std::span<const std::vector<T>>(values));
    };
  }

  template <class Get>
  static Put texts(Get get) {
    return [get = std::move(get)](ChunkEncoder& encoder, const std::string& name,
                                  std::span<const Row> rows) {
      std::vector<std::string> values;
      for (const Row& row : rows)
        values.push_back(get(row));
      encoder.text(name, values);
    };
  }

  std::vector<ColumnSpec> specs_;
  std::vector<Put> put_;
};

}  // namespace mgpu::store
