#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/formats/byte_order.hpp>
#include <mgpu/store/results/read_table.hpp>

#include "list_offsets.hpp"
#include "list_place.hpp"
#include "stored_column.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

/// A group of kind `table` contains columns of a table. A group of kind `lists` contains the
/// offsets and the values of one list column.
enum class GroupKind { table, lists };

/// Reads the number columns of one group of an open file.
class TableReader {
public:
  TableReader(hid_t file, const std::string& table, GroupKind kind, std::uint64_t file_bytes)
      : kind_(kind), max_bytes_(most_bytes(file_bytes)) {
    group_ = hdf5::own(H5Gopen2(file, table.c_str(), H5P_DEFAULT));
  }

  ReadTable run() {
    for (const std::string& name : names_in_group(group_.get()))
      read_link(name);
    if (rows_) table_.rows = *rows_;
    return std::move(table_);
  }

private:
  void read_link(const std::string& name) {
    require_plain_link(group_.get(), name);
    Hid object = hdf5::own(H5Oopen(group_.get(), name.c_str(), H5P_DEFAULT));
    if (H5Iget_type(object.get()) != H5I_DATASET) return;
    read_column({std::move(object), name, max_bytes_});
  }

  void read_column(const StoredColumn& stored) {
    if (kind_ == GroupKind::table && rows_ && *rows_ != stored.rows()) {
      fail_table("column '" + stored.spec().name + "' has " + std::to_string(stored.rows()) +
                 " rows, others " + std::to_string(*rows_));
    }
    rows_ = stored.rows();
    if (!stored.is_number()) return;
    ReadColumn column{stored.spec(), {}};
    column.bytes.resize(static_cast<std::size_t>(stored.rows()) * column.spec.row_bytes());
    stored.read(0, stored.rows(), column.bytes);
    stored.require_checksum(crc32c(column.bytes));
    table_.columns.push_back(std::move(column));
  }

  Hid group_;
  GroupKind kind_;
  std::uint64_t max_bytes_;
  std::optional<std::int64_t> rows_;
  ReadTable table_;
};

void check_offsets(const ReadTable& lists) {
  const ReadColumn& offsets = lists.column("row_offsets");
  const ReadColumn& values = lists.column("values");
  OffsetsCheck check(offsets.spec,
                     static_cast<std::int64_t>(offsets.bytes.size() / sizeof(std::int64_t)));
  check.add(offsets.values<std::int64_t>());
  check.finish(static_cast<std::int64_t>(values.bytes.size() / values.spec.row_bytes()));
}

ReadTable read_here(const std::filesystem::path& path, const std::string& table, GroupKind kind) {
  return name_failures(path, table, [&] {
    const Hid file = open_to_read(path);
    ReadTable result = TableReader(file.get(), table, kind, fs::file_size(path)).run();
    if (kind == GroupKind::lists) check_offsets(result);
    const Hid root = hdf5::own(H5Gopen2(file.get(), "/", H5P_DEFAULT));
    if (hdf5::has_attribute(root.get(), "missing_rows"))
      result.missing_rows = hdf5::read_integer_attribute(root.get(), "missing_rows");
    return result;
  });
}

/// Reads a text that put_text() has written: its length, then its bytes. Removes the length and the
/// bytes from the start of `from`.
std::string take_text(std::span<const std::byte>& from) {
  const auto length = formats::take<std::uint64_t>(from);
  std::string text(reinterpret_cast<const char*>(from.data()), length);
  from = from.subspan(length);
  return text;
}

void put_text(std::vector<std::byte>& out, const std::string& text) {
  formats::put(out, std::uint64_t{text.size()});
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// Serializes what the other ranks need to allocate memory: the numbers of rows and missing rows,
/// and the spec and size of each column.
std::string pack_shape(const ReadTable& table) {
  std::vector<std::byte> out;
  formats::put(out, table.missing_rows);
  formats::put(out, table.rows);
  formats::put(out, std::uint64_t{table.columns.size()});
  for (const ReadColumn& column : table.columns) {
    put_text(out, column.spec.name);
    formats::put(out, std::uint64_t{column.spec.names.size()});
    for (const std::string& name : column.spec.names)
      put_text(out, name);
    formats::put(out, static_cast<std::uint8_t>(column.spec.type));
    formats::put(out, column.spec.width);
    formats::put(out, std::uint64_t{column.bytes.size()});
  }
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

ReadTable unpack_shape(const std::string& text) {
  std::span<const std::byte> from = std::as_bytes(std::span(text));
  ReadTable table;
  table.missing_rows = formats::take<std::int64_t>(from);
  table.rows = formats::take<std::int64_t>(from);
  table.columns.resize(formats::take<std::uint64_t>(from));
  for (ReadColumn& column : table.columns) {
    column.spec.name = take_text(from);
    column.spec.names.resize(formats::take<std::uint64_t>(from));
    for (std::string& name : column.spec.names)
      name = take_text(from);
    column.spec.type = static_cast<ColumnType>(formats::take<std::uint8_t>(from));
    column.spec.width = formats::take<std::int64_t>(from);
    column.bytes.resize(formats::take<std::uint64_t>(from));
  }
  return table;
}

}  // namespace

const ReadColumn& ReadTable::column(std::string_view name) const {
  for (const ReadColumn& column : columns)
    if (column.spec.name == name) return column;
  fail_table("it has no column '" + std::string(name) + "' of numbers");
}

ReadTable read_table(const cluster::Group& group, const std::filesystem::path& path,
                     const std::string& table) {
  ReadTable result;
  const std::string shape = cluster::on_rank_0(group, [&] {
    result = read_here(path, table, GroupKind::table);
    return pack_shape(result);
  });
  cluster::run_together(group, [&] {
    if (group.rank() != 0) result = unpack_shape(shape);
  });
  for (ReadColumn& column : result.columns)
    group.broadcast(
        std::span(reinterpret_cast<std::uint8_t*>(column.bytes.data()), column.bytes.size()), 0);
  return result;
}

ReadTable read_table(const std::filesystem::path& path, const std::string& table) {
  return read_here(path, table, GroupKind::table);
}

bool looks_like_hdf5(const std::filesystem::path& path) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  std::string begin(kSignature.size(), '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), std::ssize(begin));
  return begin == kSignature;
}

ReadLists read_lists(const std::filesystem::path& path, const std::string& table,
                     const std::string& column) {
  const std::string place = name_failures(
      path, table, [&] { return find_lists(open_to_read(path).get(), table, column); });
  const ReadTable parts =
      read_here(path, place.empty() ? place_of_lists(table, column) : place, GroupKind::lists);
  return {parts.column("row_offsets"), parts.column("values")};
}

}  // namespace mgpu::store
