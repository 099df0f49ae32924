#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/failpoint.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/journal/chunk_payload.hpp>

#include "hdf5.hpp"
#include "list_place.hpp"
#include "seal_parts.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

constexpr std::int64_t kFormatVersion = 2;
constexpr std::uint64_t kObjectBytes = 8 << 10;  // upper bound for the metadata of an object

[[noreturn]] void fail_write(const SealWork& work, const std::string& reason, bool disk_full) {
  ErrorReport report{"E602",
                     ExitCode::io,
                     "cannot write the " + work.request.what + ": " + reason,
                     {"  --> " + work.request.path.string()},
                     ""};
  if (disk_full) {
    std::error_code error;
    const fs::space_info space = fs::space(work.temporary.parent_path(), error);
    report.lines.push_back("  free " + std::to_string(error ? 0 : space.available >> 20) + " MiB");
    report.help = "free some space, then start the same command again: nothing finished is lost";
  }
  throw Failure(std::move(report));
}

void write_attributes(hid_t object, const std::vector<Attribute>& attributes) {
  for (const Attribute& attribute : attributes) {
    std::visit([&](const auto& value) { hdf5::write_attribute(object, attribute.name, value); },
               attribute.value);
  }
}

/// Creates the missing groups of a path, and returns the last group.
Hid make_group(hid_t file, const std::string& path) {
  Hid at = hdf5::own(H5Gopen2(file, "/", H5P_DEFAULT));
  const Hid creation = hdf5::group_creation();
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    const htri_t there = H5Lexists(at.get(), name.c_str(), H5P_DEFAULT);
    hdf5::check(static_cast<herr_t>(there));
    at = hdf5::own(
        there > 0 ? H5Gopen2(at.get(), name.c_str(), H5P_DEFAULT)
                  : H5Gcreate2(at.get(), name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
    begin = end + 1;
  }
  return at;
}

/// Writes the attributes of AnnData's encoding: those of a data frame if every column has width 1,
/// else those of a dictionary of arrays. Also writes the attributes of NeXus if the table has a
/// signal.
/// Source: https://anndata.readthedocs.io/en/latest/fileformat-prose.html
void describe_table(hid_t group, const TableSpec& spec, const std::string& index) {
  const bool flat = std::all_of(spec.columns.begin(), spec.columns.end(),
                                [](const ColumnSpec& column) { return column.width == 1; });
  hdf5::write_attribute(group, "encoding-type", flat ? "dataframe" : "dict");
  hdf5::write_attribute(group, "encoding-version", flat ? "0.2.0" : "0.1.0");
  if (flat) {
    std::vector<std::string> order;
    for (const ColumnSpec& column : spec.columns)
      if (column.name != index) order.push_back(column.name);
    hdf5::write_attribute(group, "_index", index);
    hdf5::write_attribute(group, "column-order", std::span<const std::string>(order));
  }
  if (spec.signal.empty()) return;
  hdf5::write_attribute(group, "NX_class", "NXdata");
  hdf5::write_attribute(group, "signal", spec.signal);
  if (!spec.axis.empty()) hdf5::write_attribute(group, "axes", spec.axis);
}

struct Layout {
  std::int64_t rows = 0;
  std::int64_t chunk_rows = 0;  // 0: contiguous
  int gzip = 0;
  std::size_t text_bytes = 0;  // bytes of each zero-padded text; 0: no text column
};

Hid stored_type(const ColumnSpec& column, const Layout& layout) {
  if (layout.text_bytes > 0) return hdf5::text_type(layout.text_bytes);
  if (!column.names.empty()) return hdf5::enum_type(column.names);
  return hdf5::own(H5Tcopy(hdf5::number_type(column.type)));
}

Hid make_dataset(hid_t group, const ColumnSpec& column, const Layout& layout) {
  const Hid creation = hdf5::own(H5Pcreate(H5P_DATASET_CREATE));
  hdf5::check(H5Pset_obj_track_times(creation.get(), false));
  if (layout.chunk_rows > 0) {
    const hsize_t sizes[2] = {static_cast<hsize_t>(std::min(layout.chunk_rows, layout.rows)),
                              static_cast<hsize_t>(column.width)};
    hdf5::check(H5Pset_chunk(creation.get(), column.width == 1 ? 1 : 2, sizes));
    hdf5::check(H5Pset_deflate(creation.get(), static_cast<unsigned>(layout.gzip)));
  } else {
    hdf5::check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY));
    hdf5::check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER));
  }
  const Hid type = stored_type(column, layout);
  const Hid space = hdf5::make_space(layout.rows, column.width);
  Hid dataset = hdf5::own(H5Dcreate2(group, column.name.c_str(), type.get(), space.get(),
                                     H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  hdf5::write_attribute(dataset.get(), "encoding-type",
                        layout.text_bytes > 0 ? "string-array" : "array");
  hdf5::write_attribute(dataset.get(), "encoding-version", "0.2.0");
  hdf5::write_attribute(dataset.get(), "description", column.description);
  hdf5::write_attribute(dataset.get(), "units", column.units);
  hdf5::write_u32_attribute(dataset.get(), "crc32c", 0);
  return dataset;
}

/// The texts of a column of a small table, padded with zeros to the length of the longest text.
struct PaddedTexts {
  explicit PaddedTexts(const std::vector<std::string>& texts) {
    for (const std::string& text : texts)
      text_bytes = std::max(text_bytes, text.size());
    for (const std::string& text : texts)
      bytes += text + std::string(text_bytes - text.size(), '\0');
  }

  std::size_t text_bytes = 1;  // HDF5 has no texts of zero bytes
  std::string bytes;           // [texts, text_bytes]
};

void write_small_column(hid_t group, const TableSpec& spec, std::size_t index,
                        std::span<const std::byte> bytes) {
  const ColumnSpec& column = spec.columns[index];
  const bool is_text = column.type == ColumnType::text;
  const PaddedTexts texts(is_text ? decode_texts(bytes, spec.rows) : std::vector<std::string>{});
  const Hid dataset =
      make_dataset(group, column, {spec.rows, 0, 0, is_text ? texts.text_bytes : 0});
  const std::span<const std::byte> stored = is_text ? std::as_bytes(std::span(texts.bytes)) : bytes;
  const Hid type = hdf5::own(H5Dget_type(dataset.get()));
  if (spec.rows > 0)
    hdf5::check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, stored.data()));
  hdf5::write_u32_attribute(dataset.get(), "crc32c", crc32c(stored));
}

void write_small_table(hid_t file, const SmallTable& table) {
  table.spec.validate();
  for (const ColumnSpec& column : table.spec.columns)
    if (column.ragged) throw Error("small table '" + table.spec.path + "' has ragged columns");
  const std::span<const std::byte> payload(table.rows);
  const ChunkHead head = ChunkHead::read(table.spec, payload, payload.size());
  if (head.rows != table.spec.rows) throw Error("small table '" + table.spec.path + "' has gaps");
  const Hid group = make_group(file, table.spec.path);
  describe_table(group.get(), table.spec, table.spec.columns.front().name);
  for (std::size_t i = 0; i < table.spec.columns.size(); ++i) {
    const ColumnPlace& place = head.columns[i];
    write_small_column(group.get(), table.spec, i, payload.subspan(place.offset, place.bytes));
  }
}

/// Returns the table's TableSpec for describe_table(). The spec has a column for each HDF5 data set
/// in the group of the table: `id`, and the columns without lists or texts.
TableSpec sealed_spec(const SealPlan& plan, std::size_t table) {
  TableSpec spec = plan.tables[table].table->spec;
  spec.columns.clear();
  for (const ColumnPlan& column : plan.columns)
    if (column.table == table && column.part == ColumnPart::whole)
      spec.columns.push_back(column.spec);
  return spec;
}

/// Creates the HDF5 data set for the offsets or the values of a list column. For the offsets, also
/// writes the attributes of the column's group and the first offset, which is 0. Each later offset
/// is the end of the list of a row.
void make_list_part(hid_t file, SealWork& work, std::size_t index) {
  const ColumnPlan& column = work.plan.columns[index];
  const Hid group = make_group(file, fs::path(column.dataset).parent_path());
  const Hid dataset = make_dataset(group.get(), column.spec, {work.plan.rows_of(column)});
  if (column.part == ColumnPart::values) return;
  const TableSpec& table = work.plan.table_of(column).table->spec;
  const bool is_text = table.columns[*column.source].type == ColumnType::text;
  hdf5::write_attribute(group.get(), "encoding-type", "dict");
  hdf5::write_attribute(group.get(), "encoding-version", "0.1.0");
  hdf5::write_attribute(group.get(), "table", table.path);
  if (is_text) hdf5::write_attribute(group.get(), kIsText, std::int64_t{1});
  const std::int64_t zero = 0;
  const Hid file_space = hdf5::select_rows(dataset.get(), 0, 1, 1);
  const Hid memory = hdf5::memory_space(1, 1);
  hdf5::check(H5Dwrite(dataset.get(), hdf5::number_type(column.spec.type), memory.get(),
                       file_space.get(), H5P_DEFAULT, &zero));
  work.slices.push_back({index, 0, 1, sizeof zero, crc32c(std::as_bytes(std::span(&zero, 1)))});
}

void make_chunked_tables(hid_t file, SealWork& work) {
  for (std::size_t t = 0; t < work.plan.tables.size(); ++t) {
    const TablePlan& table = work.plan.tables[t];
    const Hid group = make_group(file, table.table->spec.path);
    describe_table(group.get(), sealed_spec(work.plan, t), "id");
    for (std::size_t i = 0; i < work.plan.columns.size(); ++i) {
      const ColumnPlan& column = work.plan.columns[i];
      if (column.table != t) continue;
      if (column.part != ColumnPart::whole) {
        make_list_part(file, work, i);
        continue;
      }
      const std::int64_t chunk_rows =
          column.kind == ColumnKind::compressed ? column.unit_entries * table.table->chunk_rows : 0;
      make_dataset(group.get(), column.spec, {table.rows, chunk_rows, work.request.gzip});
    }
  }
}

void write_root(hid_t file, const SealWork& work) {
  const Hid root = hdf5::own(H5Gopen2(file, "/", H5P_DEFAULT));
  const std::int64_t missing = work.report.missing_rows;
  hdf5::write_attribute(root.get(), "format_version", kFormatVersion);
  hdf5::write_attribute(root.get(), "status", missing == 0 ? "complete" : "partial");
  hdf5::write_attribute(root.get(), "missing_rows", missing);
  hdf5::write_attribute(root.get(), "NX_class", "NXroot");
  for (const SmallTable& table : work.request.small_tables) {
    if (table.spec.signal.empty()) continue;
    hdf5::write_attribute(root.get(), "default", table.spec.path);
    break;
  }
  write_attributes(root.get(), work.request.attributes);
}

std::uint64_t size_of(const std::vector<Attribute>& attributes) {
  std::uint64_t bytes = 0;
  for (const Attribute& attribute : attributes) {
    const auto* text = std::get_if<std::string>(&attribute.value);
    bytes += kObjectBytes + (text == nullptr ? 0 : text->size());
  }
  return bytes;
}

/// Returns the number of bytes of the padded texts of a small table.
std::uint64_t text_bytes(const SmallTable& table) {
  const std::span<const std::byte> payload(table.rows);
  const ChunkHead head = ChunkHead::read(table.spec, payload, payload.size());
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < table.spec.columns.size(); ++i) {
    if (table.spec.columns[i].type != ColumnType::text) continue;
    const ColumnPlace& place = head.columns[i];
    bytes += PaddedTexts(decode_texts(payload.subspan(place.offset, place.bytes), table.spec.rows))
                 .bytes.size();
  }
  return bytes;
}

/// Returns an upper bound for the size of the file in bytes, without the rows of compressed
/// columns. The function write_serial() reserves the space for these rows.
std::uint64_t layout_bytes(const SealWork& work) {
  std::uint64_t bytes = size_of(work.request.attributes);
  for (const AttributeGroup& group : work.request.groups)
    bytes += kObjectBytes + size_of(group.attributes);
  for (const SmallTable& table : work.request.small_tables) {
    bytes += table.rows.size() + kObjectBytes * (1 + table.spec.columns.size()) + text_bytes(table);
  }
  for (const ColumnPlan& column : work.plan.columns) {
    bytes += kObjectBytes;
    if (column.kind != ColumnKind::contiguous) continue;
    bytes += static_cast<std::size_t>(work.plan.rows_of(column)) * column.spec.row_bytes();
  }
  return bytes;
}

}  // namespace

void writing(const SealWork& work, const std::function<void()>& step) {
  try {
    step();
  } catch (const hdf5::Hdf5Error& error) {
    const bool disk_full = error.detail().find("No space left") != std::string::npos ||
                           error.detail().find("quota") != std::string::npos;
    fail_write(work, error.detail(), disk_full);
  }
}

void pass_failpoint(const SealWork& work, const char* call) {
  const FailpointAction action = failpoint(work.request.what + "." + call);
  if (action.error != 0) fail_write(work, std::strerror(action.error), action.error == ENOSPC);
}

void create_layout(SealWork& work) {
  pass_failpoint(work, "create");
  hdf5::SerialWriter file = hdf5::SerialWriter::create(work.temporary);
  pass_failpoint(work, "reserve");
  file.reserve(layout_bytes(work));
  write_root(file.id(), work);
  for (const AttributeGroup& group : work.request.groups)
    write_attributes(make_group(file.id(), group.path).get(), group.attributes);
  for (const SmallTable& table : work.request.small_tables)
    write_small_table(file.id(), table);
  make_chunked_tables(file.id(), work);
  file.close();
}

}  // namespace mgpu::store
