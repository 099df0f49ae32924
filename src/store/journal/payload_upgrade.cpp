#include <algorithm>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/store/journal/payload_upgrade.hpp>

namespace mgpu::store {
namespace {

const ColumnSpec* find(const std::vector<ColumnSpec>& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name, &ColumnSpec::name);
  return found == columns.end() ? nullptr : &*found;
}

}  // namespace

ChunkRows::ChunkRows(const TableSpec& spec, std::span<const std::byte> payload)
    : spec_(spec),
      payload_(payload),
      head_(ChunkHead::read(spec, payload.first(std::min(payload.size(), ChunkHead::size(spec))),
                            payload.size())) {}

std::span<const std::byte> ChunkRows::bytes(std::string_view column) const {
  const ColumnPlace& place = head_.columns[spec_.column_index(column)];
  return payload_.subspan(place.offset, place.bytes);
}

std::vector<std::string> ChunkRows::texts(std::string_view column) const {
  require_type(column, ColumnType::text);
  return decode_texts(bytes(column), rows());
}

void ChunkRows::require_type(std::string_view column, ColumnType type) const {
  const ColumnSpec& spec = spec_.columns[spec_.column_index(column)];
  if (spec.type != type || spec.ragged)
    throw Error("column '" + spec.name + "' has another type, or is ragged");
}

PayloadUpgrade::PayloadUpgrade(TableSpec table, const std::vector<std::string>& order,
                               const std::vector<ColumnSpec>& others,
                               std::map<std::string, Make> make)
    : table_(std::move(table)), old_{table_.path, table_.rows, {}, "", ""}, make_(std::move(make)) {
  for (const std::string& name : order) {
    const ColumnSpec* other = find(others, name);
    const ColumnSpec* column = other != nullptr ? other : find(table_.columns, name);
    if (column == nullptr) continue;  // the column exists only in some configurations
    old_.columns.push_back(*column);
    old_.columns.back().names.clear();
  }
  for (const ColumnSpec& column : table_.columns)
    if (!make_.contains(column.name) && find(old_.columns, column.name) == nullptr)
      throw Error("column '" + column.name + "' is not made of format 1");
}

std::vector<std::byte> PayloadUpgrade::operator()(std::span<const std::byte> payload) const {
  const ChunkRows old(old_, payload);
  ChunkEncoder encoder(table_, old.first_row(), old.rows());
  for (const ColumnSpec& column : table_.columns) {
    const auto made = make_.find(column.name);
    if (made != make_.end())
      made->second(old, encoder);
    else
      encoder.stored(column.name, old.bytes(column.name));
  }
  return encoder.finish();
}

}  // namespace mgpu::store
