#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/results/list_column.hpp>

#include "list_offsets.hpp"
#include "list_place.hpp"
#include "stored_column.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
constexpr hsize_t kMaxAttributes = 4096;

/// Calls visit(piece) for the pieces of a whole column. Compares the column's checksum with the one
/// in the file, and returns it.
template <class Visit>
std::uint32_t visit_pieces(const StoredColumn& stored, Visit visit) {
  ReadColumn piece{stored.spec(), {}};
  const std::size_t row_bytes = stored.spec().row_bytes();
  const auto at_once = static_cast<std::int64_t>(std::max<std::size_t>(1, kPieceBytes / row_bytes));
  std::uint32_t crc = 0;
  for (std::int64_t first = 0; first < stored.rows(); first += at_once) {
    const std::int64_t count = std::min(at_once, stored.rows() - first);
    piece.bytes.resize(static_cast<std::size_t>(count) * row_bytes);
    stored.read(first, count, piece.bytes);
    crc = crc32c(piece.bytes, crc);
    visit(piece);
    mark_progress();
  }
  stored.require_checksum(crc);
  return crc;
}

void check_offsets(const StoredColumn& offsets, std::int64_t items) {
  OffsetsCheck check(offsets.spec(), offsets.rows());
  visit_pieces(offsets, [&](const ReadColumn& piece) { check.add(piece.values<std::int64_t>()); });
  check.finish(items);
}

/// Adds attribute `index` of the group to `numbers`, if it is a number.
void add_number(hid_t group, hsize_t index, std::map<std::string, double>& numbers) {
  const Hid attribute = hdf5::own(
      H5Aopen_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, index, H5P_DEFAULT, H5P_DEFAULT));
  const Hid space = hdf5::own(H5Aget_space(attribute.get()));
  const Hid type = hdf5::own(H5Aget_type(attribute.get()));
  const H5T_class_t kind = H5Tget_class(type.get());
  if (H5Sget_simple_extent_npoints(space.get()) != 1) return;
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) return;
  std::string name(256, '\0');
  const ssize_t length = H5Aget_name(attribute.get(), name.size(), name.data());
  if (length < 0 || static_cast<std::size_t>(length) >= name.size())
    fail_table("an attribute's name is too long");
  name.resize(static_cast<std::size_t>(length));
  hdf5::check(H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &numbers[name]));
}

}  // namespace

struct ListColumn::Open {
  Hid file;
  StoredColumn offsets;  // [rows + 1] i64, the last is the number of items
  StoredColumn values;
};

ListColumn::ListColumn(const std::filesystem::path& path, const std::string& table,
                       const std::string& column)
    : path_(path), table_(place_of_lists(table, column)) {
  name_failures(path_, table_, [&] {
    Hid file = open_to_read(path_);
    const std::uint64_t max_bytes = most_bytes(std::filesystem::file_size(path_));
    const std::string place = find_lists(file.get(), table, column);
    if (place.empty()) fail_table("it has no lists '" + column + "'");
    table_ = place;
    const Hid group = hdf5::own(H5Gopen2(file.get(), place.c_str(), H5P_DEFAULT));
    StoredColumn offsets = StoredColumn::open(group.get(), "row_offsets", max_bytes);
    StoredColumn values = StoredColumn::open(group.get(), "values", max_bytes);
    if (!offsets.is_number() || !values.is_number()) fail_table("its lists are not of numbers");
    check_offsets(offsets, values.rows());
    open_ = std::make_unique<Open>(Open{std::move(file), std::move(offsets), std::move(values)});
  });
}

ListColumn::ListColumn(ListColumn&&) noexcept = default;
ListColumn& ListColumn::operator=(ListColumn&&) noexcept = default;
ListColumn::~ListColumn() = default;

std::int64_t ListColumn::rows() const {
  return open_->offsets.rows() - 1;
}

std::int64_t ListColumn::items() const {
  return open_->values.rows();
}

const ColumnSpec& ListColumn::spec() const {
  return open_->values.spec();
}

std::vector<std::int64_t> ListColumn::offsets(std::int64_t first, std::int64_t count) const {
  if (first < 0 || count < 0 || first > rows() - count)
    throw ShapeError("ListColumn: rows are out of range");
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(count) + 1);
  name_failures(path_, table_, [&] {
    open_->offsets.read(first, count + 1, std::as_writable_bytes(std::span(offsets)));
  });
  return offsets;
}

std::int64_t ListColumn::begin_of(std::int64_t row) const {
  return offsets(row, 0).front();
}

std::int64_t ListColumn::items_of(std::int64_t row) const {
  const std::vector<std::int64_t> at = offsets(row, 1);
  return at[1] - at[0];
}

bool ListColumn::has_lengths_of(const ListColumn& other) const {
  if (rows() != other.rows()) return false;
  constexpr auto kAtOnce = static_cast<std::int64_t>(kPieceBytes / sizeof(std::int64_t));
  for (std::int64_t first = 0; first < rows(); first += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, rows() - first);
    if (offsets(first, count) != other.offsets(first, count)) return false;
    mark_progress();
  }
  return true;
}

ReadLists ListColumn::read(std::int64_t first, std::int64_t count) const {
  std::vector<std::int64_t> rebased = offsets(first, count);
  const std::int64_t begin = rebased.front();
  ReadLists lists{{open_->offsets.spec(), {}}, read_items(begin, rebased.back() - begin)};
  for (std::int64_t& offset : rebased)
    offset -= begin;
  const auto bytes = std::as_bytes(std::span(rebased));
  lists.offsets.bytes.assign(bytes.begin(), bytes.end());
  return lists;
}

ReadColumn ListColumn::read_items(std::int64_t first, std::int64_t count) const {
  if (first < 0 || count < 0 || first > open_->values.rows() - count)
    throw ShapeError("ListColumn: values are out of range");
  return name_failures(path_, table_, [&] {
    ReadColumn column{spec(), {}};
    column.bytes.resize(static_cast<std::size_t>(count) * spec().row_bytes());
    open_->values.read(first, count, column.bytes);
    return column;
  });
}

std::uint32_t ListColumn::check_bytes() const {
  return name_failures(path_, table_,
                       [&] { return visit_pieces(open_->values, [](const ReadColumn&) {}); });
}

bool has_lists(const std::filesystem::path& path, const std::string& table,
               const std::string& column) {
  return name_failures(
      path, table, [&] { return !find_lists(open_to_read(path).get(), table, column).empty(); });
}

std::map<std::string, double> read_numbers(const std::filesystem::path& path,
                                           const std::string& group) {
  return name_failures(path, group, [&] {
    const Hid file = open_to_read(path);
    const Hid opened = hdf5::own(H5Gopen2(file.get(), group.c_str(), H5P_DEFAULT));
    H5O_info_t info{};
    hdf5::check(H5Oget_info2(opened.get(), &info, H5O_INFO_NUM_ATTRS));
    if (info.num_attrs > kMaxAttributes) fail_table("it has too many attributes");
    std::map<std::string, double> numbers;
    for (hsize_t i = 0; i < info.num_attrs; ++i)
      add_number(opened.get(), i, numbers);
    return numbers;
  });
}

}  // namespace mgpu::store
