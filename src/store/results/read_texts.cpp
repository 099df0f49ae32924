#include <algorithm>
#include <optional>
#include <utility>

#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "list_place.hpp"
#include "stored_column.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

/// An HDF5 data set of strings.
struct Strings {
  Hid file;
  Hid dataset;
  std::int64_t rows = 0;
};

Strings open_strings(const std::filesystem::path& path, const std::string& name) {
  Hid file = open_to_read(path);
  Hid dataset = hdf5::own(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT));
  const Hid type = hdf5::own(H5Dget_type(dataset.get()));
  const Hid space = hdf5::own(H5Dget_space(dataset.get()));
  const std::int64_t rows = H5Sget_simple_extent_npoints(space.get());
  if (H5Tget_class(type.get()) != H5T_STRING || rows < 0)
    fail_table("this is not a column of texts: " + name);
  return {std::move(file), std::move(dataset), rows};
}

}  // namespace

struct TextColumn::Open {
  std::filesystem::path path;
  std::string table;
  std::optional<ListColumn> lists;  // one list of bytes per text
  std::optional<Strings> strings;
};

TextColumn::TextColumn(const std::filesystem::path& path, const std::string& table,
                       const std::string& column)
    : open_(std::make_unique<Open>(Open{path, table, std::nullopt, std::nullopt})) {
  if (has_lists(path, table, column)) {
    open_->lists.emplace(path, table, column);
    if (open_->lists->spec().type != ColumnType::u8 || open_->lists->spec().width != 1)
      name_failures(path, table, [&] { fail_table("'" + column + "' has no texts"); });
    return;
  }
  name_failures(path, table, [&] { open_->strings = open_strings(path, table + "/" + column); });
}

TextColumn::TextColumn(TextColumn&&) noexcept = default;
TextColumn& TextColumn::operator=(TextColumn&&) noexcept = default;
TextColumn::~TextColumn() = default;

std::int64_t TextColumn::rows() const {
  return open_->lists ? open_->lists->rows() : open_->strings->rows;
}

void TextColumn::check_bytes() const {
  if (open_->lists) open_->lists->check_bytes();
}

std::vector<std::string> TextColumn::read(std::int64_t first, std::int64_t rows) const {
  const std::int64_t count = std::min(this->rows() - first, rows);
  if (count <= 0) return {};
  if (!open_->lists) {
    return name_failures(open_->path, open_->table, [&] {
      return hdf5::read_texts(open_->strings->dataset.get(), first, count);
    });
  }
  const ReadLists lists = open_->lists->read(first, count);
  std::vector<std::string> texts;
  for (std::int64_t row = 0; row < count; ++row) {
    const std::span<const std::uint8_t> bytes = lists.row<std::uint8_t>(row);
    texts.emplace_back(bytes.begin(), bytes.end());
  }
  return texts;
}

std::vector<std::string> read_texts(const std::filesystem::path& path, const std::string& table,
                                    const std::string& column, std::int64_t first,
                                    std::int64_t rows) {
  return TextColumn(path, table, column).read(first, rows);
}

std::vector<std::string> text_columns(const std::filesystem::path& path, const std::string& table) {
  return name_failures(path, table,
                       [&] { return find_text_columns(open_to_read(path).get(), table); });
}

std::vector<std::string> list_columns(const std::filesystem::path& path, const std::string& table) {
  return name_failures(path, table,
                       [&] { return find_list_columns(open_to_read(path).get(), table); });
}

}  // namespace mgpu::store
