#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/results/export_lines.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/read_texts.hpp>

namespace mgpu::store {
namespace {

constexpr std::int64_t kBlockRows = 4096;

template <class T>
void add_number(std::string& line, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) {
      line += "null";
      return;
    }
  }
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  line.append(digits.data(), end.ptr);
}

void add_number(std::string& line, Half value) {
  add_number(line, value.value());
}

template <class T>
void add_list(std::string& line, std::span<const T> values) {
  line += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) line += ',';
    add_number(line, values[i]);
  }
  line += ']';
}

/// Calls `use` with the values of a column, as a span of the column's number type.
template <class Use>
void with_values(const ReadColumn& column, const Use& use) {
  switch (column.spec.type) {
    case ColumnType::i32:
      return use(column.values<std::int32_t>());
    case ColumnType::i64:
      return use(column.values<std::int64_t>());
    case ColumnType::f16:
      return use(column.values<Half>());
    case ColumnType::f32:
      return use(column.values<float>());
    case ColumnType::f64:
      return use(column.values<double>());
    case ColumnType::u8:
      return use(column.values<std::uint8_t>());
    case ColumnType::u16:
      return use(column.values<std::uint16_t>());
    case ColumnType::u32:
      return use(column.values<std::uint32_t>());
    case ColumnType::u64:
      return use(column.values<std::uint64_t>());
    case ColumnType::text:
      break;  // text columns are not read as numbers
  }
}

void add_cell(std::string& line, const ReadColumn& column, std::int64_t row) {
  if (!column.spec.names.empty()) {
    const std::uint8_t value = column.values<std::uint8_t>()[static_cast<std::size_t>(row)];
    if (value < column.spec.names.size()) {
      line += formats::to_json_line(column.spec.names[value]);
      return;
    }
  }
  with_values(column, [&](auto values) {
    const auto width = static_cast<std::size_t>(column.spec.width);
    const auto cell = values.subspan(static_cast<std::size_t>(row) * width, width);
    if (width == 1) {
      add_number(line, cell.front());
    } else {
      add_list(line, cell);
    }
  });
}

void add_ragged(std::string& line, const ReadLists& lists, std::int64_t row) {
  with_values(lists.values, [&](auto values) {
    add_list(line, lists.row<typename decltype(values)::value_type>(row));
  });
}

/// Writes the rows of a table as JSON objects, one per line.
class LineWriter {
public:
  LineWriter(const std::filesystem::path& path, const std::string& table)
      : table_(read_table(path, table)) {
    for (const std::string& name : text_columns(path, table)) {
      texts_.push_back({name, TextColumn(path, table, name), {}});
      texts_.back().column.check_bytes();
    }
    for (const std::string& name : list_columns(path, table)) {
      ReadLists lists = read_lists(path, table, name);
      if (lists.rows() == table_.rows) lists_.emplace_back(name, std::move(lists));
    }
  }

  std::int64_t write(std::ostream& out) {
    for (std::int64_t first = 0; first < table_.rows; first += kBlockRows) {
      for (Texts& texts : texts_)
        texts.block = texts.column.read(first, kBlockRows);
      for (std::int64_t row = first; row < std::min(first + kBlockRows, table_.rows); ++row)
        out << line(row, static_cast<std::size_t>(row - first));
    }
    return table_.rows;
  }

private:
  struct Texts {
    std::string name;
    TextColumn column;
    std::vector<std::string> block;  // texts of the rows to write next
  };

  std::string line(std::int64_t row, std::size_t in_block) const {
    std::string line;
    const auto begin = [&](const std::string& name) {
      line += (line.empty() ? "{" : ",") + formats::to_json_line(name) + ":";
    };
    for (const ReadColumn& column : table_.columns) {
      begin(column.spec.name);
      add_cell(line, column, row);
    }
    for (const Texts& texts : texts_) {
      begin(texts.name);
      line += formats::to_json_line(texts.block.at(in_block), formats::BadUtf8::replace);
    }
    for (const auto& [name, lists] : lists_) {
      begin(name);
      add_ragged(line, lists, row);
    }
    return line + "}\n";
  }

  ReadTable table_;
  std::vector<std::pair<std::string, ReadLists>> lists_;
  std::vector<Texts> texts_;
};

}  // namespace

std::int64_t export_json_lines(const std::filesystem::path& path, const std::string& table,
                               std::ostream& out) {
  return LineWriter(path, table).write(out);
}

}  // namespace mgpu::store
