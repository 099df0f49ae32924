#include "stored_column.hpp"

#include <array>
#include <utility>

#include <mgpu/base/error.hpp>

#include "file_walk.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

/// Returns the column type for an HDF5 type. For HDF5 strings it is `text`, and for enums of one
/// byte it is u8. Errors: Failure E605 for types that no column has.
ColumnType readable_type(hid_t type, const std::string& name) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_STRING) return ColumnType::text;
  if (kind == H5T_ENUM && H5Tget_size(type) == 1) return ColumnType::u8;
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

/// Throws Failure E605 if the data of an HDF5 data set lie outside the file.
void check_storage(hid_t dataset, const std::string& name) {
  const Hid creation = hdf5::own(H5Dget_create_plist(dataset));
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  const bool is_inside = layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED || layout == H5D_COMPACT;
  if (!is_inside || H5Pget_external_count(creation.get()) != 0) {
    fail_table("column '" + name + "' lies in another file");
  }
}

/// Returns the number of rows of an HDF5 data set, and sets `spec.width`. Errors: Failure E605
/// unless the shape is [rows] or [rows, width].
std::int64_t read_shape(hid_t dataset, ColumnSpec& spec) {
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

std::string name_in_group(hid_t group, hsize_t index, H5_index_t order) {
  std::array<char, 256> name{};
  const ssize_t length = H5Lget_name_by_idx(group, ".", order, H5_ITER_INC, index, name.data(),
                                            name.size(), H5P_DEFAULT);
  hdf5::check(static_cast<herr_t>(length < 0 ? -1 : 0));
  if (static_cast<std::size_t>(length) >= name.size()) fail_table("a name is too long");
  return name.data();
}

}  // namespace

void fail_table(const std::string& what) {
  throw Failure({"E605", ExitCode::data, "this table cannot be read: " + what, {}, ""});
}

std::uint64_t most_bytes(std::uint64_t file_bytes) {
  constexpr std::uint64_t kMaxDeflateRatio = 1032;  // zlib compresses at most 1032 to 1
  return file_bytes * kMaxDeflateRatio;
}

void fail_missing() {
  throw Failure({"E603", ExitCode::no_input, "there is no such file", {}, ""});
}

Hid open_to_read(const std::filesystem::path& path) {
  require_inspected(path);
  return open_uninspected(path);
}

Hid open_uninspected(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) fail_missing();
  hdf5::check(H5PLset_loading_state(0));  // forbids the filter plugins that a file names
  const Hid access = hdf5::serial_access();
  return hdf5::own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
}

void require_checksum(hid_t dataset, const std::string& name, std::uint32_t crc) {
  if (!hdf5::has_attribute(dataset, "crc32c")) return;
  if (hdf5::read_integer_attribute(dataset, "crc32c") == crc) return;
  throw Failure({"E604",
                 ExitCode::corrupt,
                 "column '" + name + "' is damaged: its checksum does not fit",
                 {},
                 ""});
}

std::vector<std::string> names_in_group(hid_t group) {
  constexpr hsize_t kMaxNames = 4096;
  H5G_info_t info{};
  hdf5::check(H5Gget_info(group, &info));
  if (info.nlinks > kMaxNames)
    fail_table("a group has " + std::to_string(info.nlinks) + " entries");
  const Hid creation = hdf5::own(H5Gget_create_plist(group));
  unsigned flags = 0;
  hdf5::check(H5Pget_link_creation_order(creation.get(), &flags));
  const bool is_ordered = (flags & H5P_CRT_ORDER_INDEXED) != 0;
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i)
    names.push_back(name_in_group(group, i, is_ordered ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME));
  return names;
}

void require_plain_link(hid_t group, const std::string& name) {
  H5L_info_t link{};
  hdf5::check(H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT));
  if (link.type != H5L_TYPE_HARD) fail_table(name + " is not a plain link");
}

StoredColumn StoredColumn::open(hid_t group, const std::string& name, std::uint64_t max_bytes) {
  require_plain_link(group, name);
  return {hdf5::own(H5Dopen2(group, name.c_str(), H5P_DEFAULT)), name, max_bytes};
}

StoredColumn::StoredColumn(Hid dataset, const std::string& name, std::uint64_t max_bytes)
    : dataset_(std::move(dataset)), spec_{name, ColumnType::text, 1, "", ""} {
  const Hid stored = hdf5::own(H5Dget_type(dataset_.get()));
  const ColumnType type = readable_type(stored.get(), name);
  spec_.names = hdf5::names_of_values(stored.get());
  check_storage(dataset_.get(), name);
  rows_ = read_shape(dataset_.get(), spec_);
  spec_.type = type;
  if (is_number() && static_cast<std::uint64_t>(rows_) > max_bytes / spec_.row_bytes())
    fail_table("column '" + name + "' says it is larger than its file can hold");
}

void StoredColumn::read(std::int64_t first, std::int64_t count, std::span<std::byte> bytes) const {
  if (bytes.size() != static_cast<std::size_t>(count) * spec_.row_bytes())
    throw ShapeError("StoredColumn: the room is not that of the rows");
  if (count == 0) return;
  const Hid from = hdf5::select_rows(dataset_.get(), first, count, spec_.width);
  const Hid into = hdf5::memory_space(count, spec_.width);
  const Hid stored = hdf5::own(H5Dget_type(dataset_.get()));
  const bool is_enum = H5Tget_class(stored.get()) == H5T_ENUM;
  const hid_t type = is_enum ? stored.get() : hdf5::number_type(spec_.type);
  hdf5::check(H5Dread(dataset_.get(), type, into.get(), from.get(), H5P_DEFAULT, bytes.data()));
}

}  // namespace mgpu::store
