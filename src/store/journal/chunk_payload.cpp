#include <cstring>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/formats/byte_order.hpp>
#include <mgpu/store/journal/chunk_payload.hpp>

namespace mgpu::store {
namespace {

// A payload consists of a head and the bytes of the columns, in the order of TableSpec::columns.
// The head has these fields:
// - TableSpec::fingerprint(), u32
// - number of columns, u32
// - first row, i64
// - number of rows, i64
// - for each column, its number of bytes as u64, its CRC-32C as u32, and a zero as u32
//
// A text column or a ragged column begins with one u64 per row. This number is the length of the
// row's text in bytes, or the number of items in the row's list. The texts or items of all rows
// follow.
constexpr std::size_t kFixedBytes = 24;
constexpr std::size_t kColumnBytes = 16;

[[noreturn]] void fail_damaged(const std::string& what) {
  throw Failure({"E604", ExitCode::corrupt, "a journaled chunk is damaged: " + what, {}, ""});
}

/// Returns whether `column` can have `bytes` bytes in a chunk with `rows` rows.
bool fits(const ColumnSpec& column, std::int64_t rows, std::uint64_t bytes) {
  const auto n = static_cast<std::uint64_t>(rows);
  if (!column.has_lists()) return bytes == n * column.row_bytes();
  const std::uint64_t lengths = n * sizeof(std::uint64_t);
  return bytes >= lengths && (bytes - lengths) % column.row_bytes() == 0;
}

}  // namespace

ChunkEncoder::ChunkEncoder(const TableSpec& spec, std::int64_t first_row, std::int64_t rows)
    : spec_(&spec),
      first_row_(first_row),
      rows_(rows),
      columns_(spec.columns.size()),
      given_(spec.columns.size(), false) {
  if (first_row < 0 || rows < 0 || first_row > spec.rows - rows) {
    throw Error("rows " + std::to_string(first_row) + " + " + std::to_string(rows) +
                " are not in table '" + spec.path + "' of " + std::to_string(spec.rows));
  }
}

void ChunkEncoder::keep(std::size_t column, std::vector<std::byte> bytes) {
  if (given_[column]) throw Error("column '" + spec_->columns[column].name + "' is given twice");
  columns_[column] = std::move(bytes);
  given_[column] = true;
}

std::size_t ChunkEncoder::column_of(std::string_view name, ColumnType type, bool ragged) const {
  const std::size_t index = spec_->column_index(name);
  const ColumnSpec& column = spec_->columns[index];
  if (column.type != type) {
    throw Error("column '" + column.name + "' is " + std::string(name_of(column.type)) +
                ", the values are " + std::string(name_of(type)));
  }
  if (column.ragged != ragged) {
    throw Error("column '" + column.name + "' is " + (ragged ? "not " : "") + "ragged");
  }
  return index;
}

void ChunkEncoder::add_numbers(std::string_view name, ColumnType type,
                               std::span<const std::byte> bytes) {
  const std::size_t index = column_of(name, type, false);
  const ColumnSpec& column = spec_->columns[index];
  if (bytes.size() != static_cast<std::size_t>(rows_) * column.row_bytes()) {
    throw ShapeError("column '" + column.name + "': " + std::to_string(bytes.size()) +
                     " bytes for " + std::to_string(rows_) + " rows of " +
                     std::to_string(column.row_bytes()));
  }
  keep(index, {bytes.begin(), bytes.end()});
}

void ChunkEncoder::add_lists(std::string_view name, ColumnType type,
                             std::span<const std::span<const std::byte>> lists) {
  const std::size_t index = column_of(name, type, true);
  const ColumnSpec& column = spec_->columns[index];
  if (lists.size() != static_cast<std::size_t>(rows_)) {
    throw ShapeError("column '" + column.name + "': " + std::to_string(lists.size()) +
                     " lists for " + std::to_string(rows_) + " rows");
  }
  std::vector<std::byte> bytes;
  for (const std::span<const std::byte> list : lists) {
    if (list.size() % column.row_bytes() != 0) {
      throw ShapeError("column '" + column.name + "': a list of " + std::to_string(list.size()) +
                       " bytes, its items have " + std::to_string(column.row_bytes()));
    }
    formats::put(bytes, std::uint64_t{list.size() / column.row_bytes()});
  }
  for (const std::span<const std::byte> list : lists)
    bytes.insert(bytes.end(), list.begin(), list.end());
  keep(index, std::move(bytes));
}

void ChunkEncoder::text(std::string_view name, std::span<const std::string> values) {
  const std::size_t index = spec_->column_index(name);
  if (spec_->columns[index].type != ColumnType::text) {
    throw Error("column '" + std::string(name) + "' is not text");
  }
  if (values.size() != static_cast<std::size_t>(rows_)) {
    throw ShapeError("column '" + std::string(name) + "': " + std::to_string(values.size()) +
                     " texts for " + std::to_string(rows_) + " rows");
  }
  std::vector<std::byte> bytes;
  std::string joined;
  for (const std::string& value : values) {
    const std::string stored = storable(value);
    formats::put(bytes, std::uint64_t{stored.size()});
    joined += stored;
  }
  const auto tail = std::as_bytes(std::span(joined));
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  keep(index, std::move(bytes));
}

void ChunkEncoder::stored(std::string_view name, std::span<const std::byte> bytes) {
  keep(spec_->column_index(name), {bytes.begin(), bytes.end()});
}

std::vector<std::byte> ChunkEncoder::finish() {
  std::vector<std::byte> out;
  formats::put(out, spec_->fingerprint());
  formats::put(out, static_cast<std::uint32_t>(columns_.size()));
  formats::put(out, first_row_);
  formats::put(out, rows_);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!given_[i]) throw Error("column '" + spec_->columns[i].name + "' has no values");
    formats::put(out, std::uint64_t{columns_[i].size()});
    formats::put(out, crc32c(columns_[i]));
    formats::put(out, std::uint32_t{0});
  }
  for (const std::vector<std::byte>& column : columns_)
    out.insert(out.end(), column.begin(), column.end());
  return out;
}

std::size_t ChunkHead::size(const TableSpec& spec) {
  return kFixedBytes + kColumnBytes * spec.columns.size();
}

ChunkHead ChunkHead::read(const TableSpec& spec, std::span<const std::byte> bytes,
                          std::uint64_t payload_bytes) {
  if (bytes.size() < size(spec) || payload_bytes < size(spec)) fail_damaged("its head is cut off");
  if (formats::take<std::uint32_t>(bytes) != spec.fingerprint() ||
      formats::take<std::uint32_t>(bytes) != spec.columns.size()) {
    fail_damaged("its columns are not those of table '" + spec.path + "'");
  }
  ChunkHead head;
  head.first_row = formats::take<std::int64_t>(bytes);
  head.rows = formats::take<std::int64_t>(bytes);
  if (head.first_row < 0 || head.rows < 0 || head.rows > spec.rows ||
      head.first_row > spec.rows - head.rows) {
    fail_damaged("its rows are not in the table");
  }
  std::uint64_t offset = size(spec);
  for (const ColumnSpec& column : spec.columns) {
    ColumnPlace place{offset, formats::take<std::uint64_t>(bytes),
                      formats::take<std::uint32_t>(bytes)};
    formats::take<std::uint32_t>(bytes);
    if (place.bytes > payload_bytes - offset || !fits(column, head.rows, place.bytes)) {
      fail_damaged("column '" + column.name + "' has the wrong length");
    }
    offset += place.bytes;
    head.columns.push_back(place);
  }
  if (offset != payload_bytes) fail_damaged("bytes follow its last column");
  return head;
}

std::vector<std::string> decode_texts(std::span<const std::byte> bytes, std::int64_t rows) {
  const auto n = static_cast<std::size_t>(rows);
  if (bytes.size() / sizeof(std::uint64_t) < n) fail_damaged("text lengths are cut off");
  std::span<const std::byte> rest = bytes.subspan(n * sizeof(std::uint64_t));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < n; ++i) {
    const auto length = formats::take<std::uint64_t>(bytes);
    if (length > rest.size()) fail_damaged("a text is cut off");
    texts.emplace_back(reinterpret_cast<const char*>(rest.data()), length);
    rest = rest.subspan(length);
  }
  if (!rest.empty()) fail_damaged("bytes follow its last text");
  return texts;
}

ListBytes decode_lists(std::span<const std::byte> bytes, std::int64_t rows,
                       const ColumnSpec& column) {
  if (!fits(column, rows, bytes.size())) fail_damaged("list lengths are cut off");
  ListBytes lists;
  for (std::int64_t i = 0; i < rows; ++i)
    lists.lengths.push_back(formats::take<std::int64_t>(bytes));
  std::uint64_t rest = bytes.size() / column.row_bytes();
  for (const std::int64_t length : lists.lengths) {
    if (length < 0 || static_cast<std::uint64_t>(length) > rest) fail_damaged("a list is cut off");
    rest -= static_cast<std::uint64_t>(length);
  }
  if (rest != 0) fail_damaged("items follow its last list");
  lists.values = bytes;
  return lists;
}

}  // namespace mgpu::store
