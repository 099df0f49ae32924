#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/agree.hpp>
#include <mgpu/store/read_table.hpp>

#include "byte_order.hpp"
#include "hdf5.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

constexpr std::uint64_t kMaxDeflateRatio = 1032;  // zlib's technical details: 1032 to 1
constexpr hsize_t kMaxColumns = 4096;

[[noreturn]] void fail_table(const std::string& what) {
  throw Failure({"E605", ExitCode::data, "this table cannot be read: " + what, {}, ""});
}

/// The column type that a stored type is read as; nothing for text.
std::optional<ColumnType> readable_type(hid_t type, const std::string& name) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_STRING) return std::nullopt;
  const std::size_t size = H5Tget_size(type);
  if (kind == H5T_FLOAT && size == 2) return ColumnType::f16;
  if (kind == H5T_FLOAT && size == 4) return ColumnType::f32;
  if (kind == H5T_FLOAT && size == 8) return ColumnType::f64;
  if (kind != H5T_INTEGER) fail_table("column '" + name + "' is neither number nor text");
  const bool is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
  if (is_signed && size == 4) return ColumnType::i32;
  if (is_signed && size == 8) return ColumnType::i64;
  if (!is_signed && size == 1) return ColumnType::u8;
  if (!is_signed && size == 2) return ColumnType::u16;
  if (!is_signed && size == 4) return ColumnType::u32;
  if (!is_signed && size == 8) return ColumnType::u64;
  fail_table("column '" + name + "' has " + std::to_string(size) + "-byte " +
             (is_signed ? "signed" : "unsigned") + " integers");
}

/// Refuses data that lies outside the file.
void check_storage(hid_t dataset, const std::string& name) {
  const Hid creation = hdf5::own(H5Dget_create_plist(dataset));
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  const bool is_inside = layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED || layout == H5D_COMPACT;
  if (!is_inside || H5Pget_external_count(creation.get()) != 0) {
    fail_table("column '" + name + "' lies in another file");
  }
}

/// Whether a group's data sets are a table's columns, or the offsets and values of lists.
enum class GroupKind { table, lists };

/// Reads one group of one open file.
class TableReader {
public:
  TableReader(hid_t file, const std::string& table, GroupKind kind, std::uint64_t file_bytes)
      : kind_(kind), max_bytes_(file_bytes * kMaxDeflateRatio) {
    group_ = hdf5::own(H5Gopen2(file, table.c_str(), H5P_DEFAULT));
  }

  ReadTable run() {
    H5G_info_t info{};
    hdf5::check(H5Gget_info(group_.get(), &info));
    if (info.nlinks > kMaxColumns) fail_table("it has " + std::to_string(info.nlinks) + " columns");
    const bool is_ordered = (creation_order() & H5P_CRT_ORDER_INDEXED) != 0;
    for (hsize_t i = 0; i < info.nlinks; ++i)
      read_link(i, is_ordered ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME);
    if (rows_) table_.rows = *rows_;
    return std::move(table_);
  }

private:
  unsigned creation_order() const {
    const Hid creation = hdf5::own(H5Gget_create_plist(group_.get()));
    unsigned flags = 0;
    hdf5::check(H5Pget_link_creation_order(creation.get(), &flags));
    return flags;
  }

  void read_link(hsize_t index, H5_index_t order) {
    std::array<char, 256> name{};
    const ssize_t length = H5Lget_name_by_idx(group_.get(), ".", order, H5_ITER_INC, index,
                                              name.data(), name.size(), H5P_DEFAULT);
    hdf5::check(static_cast<herr_t>(length < 0 ? -1 : 0));
    if (static_cast<std::size_t>(length) >= name.size()) fail_table("a column's name is too long");
    H5L_info_t link{};
    hdf5::check(H5Lget_info(group_.get(), name.data(), &link, H5P_DEFAULT));
    if (link.type != H5L_TYPE_HARD) fail_table(std::string(name.data()) + " is not a plain link");
    const Hid object = hdf5::own(H5Oopen(group_.get(), name.data(), H5P_DEFAULT));
    if (H5Iget_type(object.get()) == H5I_DATASET) read_dataset(object.get(), name.data());
  }

  void read_dataset(hid_t dataset, const std::string& name) {
    const Hid stored = hdf5::own(H5Dget_type(dataset));
    const std::optional<ColumnType> type = readable_type(stored.get(), name);
    check_storage(dataset, name);
    ReadColumn column{{name, ColumnType::text, 1, "", ""}, {}};
    const std::int64_t rows = read_shape(dataset, column.spec);
    if (kind_ == GroupKind::table && rows_ && *rows_ != rows) {
      fail_table("column '" + name + "' has " + std::to_string(rows) + " rows, others " +
                 std::to_string(*rows_));
    }
    rows_ = rows;
    if (!type) return;
    column.spec.type = *type;
    read_values(dataset, rows, column);
    table_.columns.push_back(std::move(column));
  }

  /// Number of rows; sets the width.
  static std::int64_t read_shape(hid_t dataset, ColumnSpec& spec) {
    const Hid space = hdf5::own(H5Dget_space(dataset));
    const int dimensions = H5Sget_simple_extent_ndims(space.get());
    if (dimensions != 1 && dimensions != 2) {
      fail_table("column '" + spec.name + "' has " + std::to_string(dimensions) + " dimensions");
    }
    std::array<hsize_t, 2> sizes{0, 1};
    hdf5::check(H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr));
    constexpr hsize_t kMax = hsize_t{1} << 40;
    if (sizes[0] > kMax || sizes[1] > kMax || sizes[1] == 0) {
      fail_table("column '" + spec.name + "' has an impossible shape");
    }
    spec.width = static_cast<std::int64_t>(sizes[1]);
    return static_cast<std::int64_t>(sizes[0]);
  }

  void read_values(hid_t dataset, std::int64_t rows, ReadColumn& column) const {
    const std::uint64_t row_bytes = column.spec.row_bytes();
    if (static_cast<std::uint64_t>(rows) > max_bytes_ / row_bytes) {
      fail_table("column '" + column.spec.name + "' says it is larger than its file can hold");
    }
    column.bytes.resize(static_cast<std::size_t>(rows) * row_bytes);
    if (rows > 0) {
      hdf5::check(H5Dread(dataset, hdf5::number_type(column.spec.type), H5S_ALL, H5S_ALL,
                          H5P_DEFAULT, column.bytes.data()));
    }
    if (!hdf5::has_attribute(dataset, "crc32c")) return;
    if (hdf5::read_integer_attribute(dataset, "crc32c") == crc32c(column.bytes)) return;
    throw Failure({"E604",
                   ExitCode::corrupt,
                   "column '" + column.spec.name + "' is damaged: its checksum does not fit",
                   {},
                   ""});
  }

  Hid group_;
  GroupKind kind_;
  std::uint64_t max_bytes_;
  std::optional<std::int64_t> rows_;
  ReadTable table_;
};

/// Refuses offsets that are not those of the values.
void check_lists(const ReadTable& table) {
  const ReadColumn& offsets = table.column("row_offsets");
  const ReadColumn& values = table.column("values");
  if (offsets.spec.type != ColumnType::i64 || offsets.spec.width != 1 || offsets.bytes.empty()) {
    fail_table("its row_offsets are not a row of i64");
  }
  const std::span<const std::int64_t> at = offsets.values<std::int64_t>();
  const auto items = static_cast<std::int64_t>(values.bytes.size() / values.spec.row_bytes());
  if (at.front() != 0 || at.back() != items || !std::is_sorted(at.begin(), at.end())) {
    fail_table("its row_offsets do not fit its " + std::to_string(items) + " values");
  }
}

ReadTable read_here(const std::filesystem::path& path, const std::string& table, GroupKind kind) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    throw Failure({"E603", ExitCode::no_input, "there is no such file", {}, ""});
  }
  const hdf5::Quiet quiet;
  try {
    const Hid access = hdf5::serial_access();
    const Hid file = hdf5::own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
    ReadTable result = TableReader(file.get(), table, kind, fs::file_size(path)).run();
    if (kind == GroupKind::lists) check_lists(result);
    const Hid root = hdf5::own(H5Gopen2(file.get(), "/", H5P_DEFAULT));
    if (hdf5::has_attribute(root.get(), "missing_rows")) {
      result.missing_rows = hdf5::read_integer_attribute(root.get(), "missing_rows");
    }
    return result;
  } catch (const hdf5::Hdf5Error& problem) {
    fail_table(problem.detail());
  }
}

/// Takes a text with its length in front off the bytes.
std::string take_text(std::span<const std::byte>& from) {
  const auto length = take<std::uint64_t>(from);
  std::string text(reinterpret_cast<const char*>(from.data()), length);
  from = from.subspan(length);
  return text;
}

void put_text(std::vector<std::byte>& out, const std::string& text) {
  put(out, std::uint64_t{text.size()});
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

/// What the other ranks need to make room: rows and the columns' shapes.
std::string pack_shape(const ReadTable& table) {
  std::vector<std::byte> out;
  put(out, table.missing_rows);
  put(out, table.rows);
  put(out, std::uint64_t{table.columns.size()});
  for (const ReadColumn& column : table.columns) {
    put_text(out, column.spec.name);
    put(out, static_cast<std::uint8_t>(column.spec.type));
    put(out, column.spec.width);
    put(out, std::uint64_t{column.bytes.size()});
  }
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

ReadTable unpack_shape(const std::string& text) {
  std::span<const std::byte> from = std::as_bytes(std::span(text));
  ReadTable table;
  table.missing_rows = take<std::int64_t>(from);
  table.rows = take<std::int64_t>(from);
  table.columns.resize(take<std::uint64_t>(from));
  for (ReadColumn& column : table.columns) {
    column.spec.name = take_text(from);
    column.spec.type = static_cast<ColumnType>(take<std::uint8_t>(from));
    column.spec.width = take<std::int64_t>(from);
    column.bytes.resize(take<std::uint64_t>(from));
  }
  return table;
}

/// Names the table in a failure that happened somewhere inside.
ReadTable read_and_name(const std::filesystem::path& path, const std::string& table,
                        GroupKind kind) {
  try {
    return read_here(path, table, kind);
  } catch (const Failure& failure) {
    Report report = failure.report();
    report.lines.insert(report.lines.begin(), "  --> " + path.string() + ", table " + table);
    throw Failure(std::move(report));
  }
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
    result = read_and_name(path, table, GroupKind::table);
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
  return read_and_name(path, table, GroupKind::table);
}

bool looks_like_hdf5(const std::filesystem::path& path) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  std::string begin(kSignature.size(), '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), std::ssize(begin));
  return begin == kSignature;
}

ReadLists read_lists(const std::filesystem::path& path, const std::string& column) {
  const ReadTable parts = read_and_name(path, "arrays/" + column, GroupKind::lists);
  return {parts.column("row_offsets"), parts.column("values")};
}

}  // namespace mgpu::store
