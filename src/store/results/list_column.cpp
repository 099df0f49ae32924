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

void check_offsets(const StoredColumn& offsets, std::int64_t items) {
  OffsetsCheck check(offsets.spec(), offsets.rows());
  visit_pieces(offsets, [&](const ReadColumn& piece) { check.add(piece.values<std::int64_t>()); });
  check.finish(items);
}

}  // namespace

struct ListColumn::Open {
  Hid file;
  StoredColumn offsets;  // [rows + 1] i64; the last offset is the number of items
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

}  // namespace mgpu::store
