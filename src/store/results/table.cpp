#include <set>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/results/table.hpp>

namespace mgpu::store {

std::size_t size_of(ColumnType type) {
  switch (type) {
    case ColumnType::u8:
    case ColumnType::text:
      return 1;
    case ColumnType::u16:
    case ColumnType::f16:
      return 2;
    case ColumnType::i32:
    case ColumnType::f32:
    case ColumnType::u32:
      return 4;
    case ColumnType::i64:
    case ColumnType::f64:
    case ColumnType::u64:
      return 8;
  }
  throw Error("unknown ColumnType " + std::to_string(static_cast<int>(type)));
}

std::string_view name_of(ColumnType type) {
  constexpr std::string_view kNames[] = {"i32", "i64", "f32", "f64",  "u8",
                                         "u16", "u32", "u64", "text", "f16"};
  return kNames[static_cast<std::size_t>(type)];
}

void TableSpec::validate() const {
  const auto bad = [this](const std::string& what) {
    throw Error("table '" + path + "': " + what);
  };
  if (path.empty() || path.front() == '/' || path.back() == '/') bad("its path is not a group");
  if (rows < 0) bad("negative number of rows");
  if (columns.empty()) bad("no columns");
  std::set<std::string_view> names;
  for (const ColumnSpec& column : columns) {
    if (column.name.empty() || column.name.find('/') != std::string::npos) bad("bad column name");
    if (!names.insert(column.name).second) bad("two columns named '" + column.name + "'");
    if (column.width < 1) bad("width of '" + column.name + "' is not positive");
    if (column.type == ColumnType::text && column.width != 1) bad("text columns have width 1");
    if (column.type == ColumnType::text && column.ragged) bad("lists of texts are not stored");
    const bool may_be_named = column.type == ColumnType::u8 && column.width == 1 && !column.ragged;
    if (!column.names.empty() && !may_be_named) bad("values of '" + column.name + "' have names");
  }
  for (const std::string& shown : {signal, axis})
    if (!shown.empty() && !names.contains(shown)) bad("plots '" + shown + "', which it lacks");
}

std::size_t TableSpec::column_index(std::string_view name) const {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == name) return i;
  throw Error("table '" + path + "' has no column '" + std::string(name) + "'");
}

std::uint32_t TableSpec::fingerprint() const {
  std::string text;
  for (const ColumnSpec& column : columns) {
    text += column.name + ' ' + std::string(name_of(column.type)) + ' ' +
            std::to_string(column.width) + (column.ragged ? " ragged\n" : "\n");
    for (const std::string& name : column.names)
      text += "= " + name + '\n';
  }
  return crc32c(text);
}

}  // namespace mgpu::store
