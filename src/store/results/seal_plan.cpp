#include "seal_plan.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/formats/byte_order.hpp>

#include "list_place.hpp"

namespace mgpu::store {
namespace {

// Smaller columns are not compressed, because HDF5's chunk index would need more bytes than
// compression saves.
constexpr std::int64_t kMinCompressedBytes = 64 << 10;
constexpr std::int64_t kHdf5ChunkBytes = 1 << 20;  // target size; HDF5's chunk cache has this size
constexpr std::int64_t kMaxHdf5ChunkBytes = 64 << 20;  // no compression with larger chunks
constexpr std::size_t kOpenLedgers = 64;

/// Returns the number of rows of element `entry` of TablePlan::entries.
std::int64_t rows_of_entry(const TablePlan& table, std::size_t entry) {
  const auto first = static_cast<std::int64_t>(entry) * table.table->chunk_rows;
  return std::min(table.rows - first, table.table->chunk_rows);
}

TablePlan plan_table(const ChunkJournal* journal, const ChunkedTable& table, bool partial) {
  table.spec.validate();
  if (journal == nullptr) throw Error("journaled tables need a journal");
  if (table.chunk_rows < 1) throw Error("chunk_rows must be positive");
  TablePlan plan{&table, journal->entries(table.phase), 0, {}};
  const std::int64_t rows = table.spec.rows;
  const std::int64_t chunks = (rows + table.chunk_rows - 1) / table.chunk_rows;
  for (const ChunkEntry& entry : plan.entries) {
    const auto chunk = static_cast<std::int64_t>(entry.chunk);
    if (chunk < 0 || chunk >= chunks) {
      throw Error("chunk " + std::to_string(entry.chunk) + " is not in table '" + table.spec.path +
                  "' of " + std::to_string(chunks) + " chunks");
    }
    plan.rows += std::min(table.chunk_rows, rows - chunk * table.chunk_rows);
  }
  if (!partial && plan.rows != rows) {
    throw Error("table '" + table.spec.path + "' has " + std::to_string(plan.rows) + " of " +
                std::to_string(rows) + " rows in the journal");
  }
  return plan;
}

/// Sets `kind` and `unit_entries` of `column`. The result depends only on shapes and configuration,
/// so that the file is the same for any number of ranks.
void choose_layout(ColumnPlan& column, const TablePlan& table, int gzip) {
  // Lists stay contiguous. Journaled chunks hold different numbers of items, so HDF5 chunks, which
  // all have the same size, would split journaled chunks.
  if (column.part != ColumnPart::whole) return;
  const auto row_bytes = static_cast<std::int64_t>(column.spec.row_bytes());
  const std::int64_t entry_bytes = table.table->chunk_rows * row_bytes;
  const bool worth_it = table.rows * row_bytes >= kMinCompressedBytes;
  if (gzip == 0 || !worth_it || entry_bytes > kMaxHdf5ChunkBytes) return;
  column.kind = ColumnKind::compressed;
  column.unit_entries = std::max<std::int64_t>(1, kHdf5ChunkBytes / entry_bytes);
}

/// Returns the HDF5 data sets of the table's column `source`, or of the ids if `source` is empty.
std::vector<ColumnPlan> plan_column(std::size_t table, const std::string& path,
                                    std::optional<std::size_t> source, const ColumnSpec& spec) {
  if (!spec.has_lists()) return {{table, source, spec, path + "/" + spec.name}};
  const std::string place = place_of_lists(path, spec.name);
  ColumnPlan offsets{
      table,
      source,
      {"row_offsets", ColumnType::i64, 1,
       "where each row of " + path + " begins among the values, and their end", "items"},
      place + "/row_offsets"};
  ColumnPlan values{table, source, spec, place + "/values"};
  values.spec.name = "values";
  offsets.part = ColumnPart::offsets;
  values.part = ColumnPart::values;
  return {offsets, values};
}

void check_names(const SealPlan& plan) {
  std::set<std::string_view> names;
  for (const ColumnPlan& column : plan.columns) {
    if (names.insert(column.dataset).second) continue;
    throw Error("two columns would be written to '" + column.dataset + "'");
  }
}

}  // namespace

std::int64_t SealPlan::rows_of(const ColumnPlan& column) const {
  const TablePlan& table = table_of(column);
  if (column.part == ColumnPart::values) return table.list_starts[*column.source].back();
  return table.rows + (column.part == ColumnPart::offsets ? 1 : 0);
}

std::int64_t SealPlan::first_row(const ColumnPlan& column, std::size_t entry) const {
  const TablePlan& table = table_of(column);
  if (column.part == ColumnPart::values) return table.list_starts[*column.source][entry];
  const std::int64_t row =
      std::min(table.rows, static_cast<std::int64_t>(entry) * table.table->chunk_rows);
  // An HDF5 data set of offsets begins with 0, so its row r + 1 holds the end of the list of row r.
  return row + (column.part == ColumnPart::offsets ? 1 : 0);
}

std::int64_t SealPlan::rows_in(const ColumnPlan& column, EntryRange range) const {
  return first_row(column, range.last) - first_row(column, range.first);
}

std::int64_t SealPlan::unit_bytes(const ColumnPlan& column) const {
  std::int64_t rows = table_of(column).table->chunk_rows * column.unit_entries;
  if (column.part == ColumnPart::values) {
    rows = 1;
    for (std::size_t entry = 0; entry < table_of(column).entries.size(); ++entry)
      rows = std::max(rows, rows_in(column, {entry, entry + 1}));
  }
  return rows * static_cast<std::int64_t>(column.spec.row_bytes());
}

SealPlan make_plan(const ChunkJournal* journal, const SealRequest& request) {
  SealPlan plan;
  for (const ChunkedTable& table : request.tables) {
    plan.tables.push_back(plan_table(journal, table, request.partial));
    const auto add = [&](std::optional<std::size_t> source, const ColumnSpec& spec) {
      for (ColumnPlan& column :
           plan_column(plan.tables.size() - 1, table.spec.path, source, spec)) {
        choose_layout(column, plan.tables.back(), request.gzip);
        plan.columns.push_back(std::move(column));
      }
    };
    add(std::nullopt, {"id", ColumnType::i64, 1, "number of the sample in its data set", ""});
    for (std::size_t i = 0; i < table.spec.columns.size(); ++i) {
      if (table.spec.columns[i].name == "id") throw Error("the seal itself makes column 'id'");
      if (request.text || table.spec.columns[i].type != ColumnType::text) {
        add(i, table.spec.columns[i]);
      }
    }
  }
  check_names(plan);
  return plan;
}

void measure_lists(const cluster::Group& group, const ChunkJournal* journal, SealPlan& plan) {
  RowReader reader(journal, plan);
  for (TablePlan& table : plan.tables) {
    const std::vector<ColumnSpec>& columns = table.table->spec.columns;
    table.list_starts.resize(columns.size());
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (!columns[c].has_lists()) continue;
      const std::size_t n = table.entries.size();
      const auto ranks = static_cast<std::size_t>(group.size());
      const auto rank = static_cast<std::size_t>(group.rank());
      std::vector<std::int64_t> mine;
      cluster::run_together(group, [&] {
        for (std::size_t entry = n * rank / ranks; entry < n * (rank + 1) / ranks; ++entry)
          mine.push_back(reader.list_items(table, c, entry));
      });
      std::vector<std::int64_t>& starts = table.list_starts[c];
      starts = {0};
      for (const std::int64_t items : cluster::all_gather_records(group, mine))
        starts.push_back(starts.back() + items);
    }
  }
}

Passes::Passes(const SealPlan& plan, const ColumnPlan& column, int ranks,
               std::int64_t bytes_per_rank)
    : entries_(static_cast<std::int64_t>(plan.table_of(column).entries.size())),
      unit_entries_(column.unit_entries),
      ranks_(ranks) {
  const std::int64_t units = (entries_ + unit_entries_ - 1) / unit_entries_;
  const std::int64_t fair = (units + ranks - 1) / ranks;
  units_per_rank_ =
      std::max<std::int64_t>(1, std::min(fair, bytes_per_rank / plan.unit_bytes(column)));
  const std::int64_t per_pass = units_per_rank_ * ranks;
  passes_ = (units + per_pass - 1) / per_pass;
}

EntryRange Passes::range(std::int64_t pass, int rank) const {
  const std::int64_t first = (pass * ranks_ + rank) * units_per_rank_ * unit_entries_;
  const std::int64_t last = first + units_per_rank_ * unit_entries_;
  return {static_cast<std::size_t>(std::min(first, entries_)),
          static_cast<std::size_t>(std::min(last, entries_))};
}

std::vector<std::byte> RowReader::numbers(const ColumnPlan& column, EntryRange range) {
  if (!column.source) return ids(column, range);
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(plan_.rows_in(column, range)) * column.spec.row_bytes());
  for (std::size_t entry = range.first; entry < range.last; ++entry) {
    const std::vector<std::byte> part =
        column.part == ColumnPart::whole ? stored(column, entry) : part_of_lists(column, entry);
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

std::int64_t RowReader::list_items(const TablePlan& table, std::size_t column, std::size_t entry) {
  const ChunkHead head = this->head(table, entry);
  const std::uint64_t bytes =
      head.columns[column].bytes - static_cast<std::uint64_t>(head.rows) * sizeof(std::uint64_t);
  return static_cast<std::int64_t>(bytes / table.table->spec.columns[column].row_bytes());
}

std::vector<std::byte> RowReader::part_of_lists(const ColumnPlan& column, std::size_t entry) {
  const TablePlan& table = plan_.table_of(column);
  const std::vector<std::byte> bytes = stored(column, entry);
  const ListBytes lists =
      decode_lists(bytes, rows_of_entry(table, entry), table.table->spec.columns[*column.source]);
  if (column.part == ColumnPart::values) return {lists.values.begin(), lists.values.end()};
  std::vector<std::byte> ends;
  std::int64_t end = table.list_starts[*column.source][entry];
  for (const std::int64_t length : lists.lengths)
    formats::put(ends, end += length);
  return ends;
}

std::vector<std::byte> RowReader::ids(const ColumnPlan& column, EntryRange range) const {
  const TablePlan& table = plan_.table_of(column);
  std::vector<std::byte> bytes;
  for (std::size_t entry = range.first; entry < range.last; ++entry) {
    const auto first =
        static_cast<std::int64_t>(table.entries[entry].chunk) * table.table->chunk_rows;
    for (std::int64_t i = 0; i < rows_of_entry(table, entry); ++i)
      formats::put(bytes, first + i);
  }
  return bytes;
}

ChunkHead RowReader::head(const TablePlan& table, std::size_t entry) {
  const TableSpec& spec = table.table->spec;
  const ChunkEntry& at = table.entries[entry];
  std::vector<std::byte> bytes(std::min<std::uint64_t>(ChunkHead::size(spec), at.length));
  file(at.file).read(at.offset, bytes);
  const ChunkHead head = ChunkHead::read(spec, bytes, at.length);
  const bool expected =
      head.first_row == static_cast<std::int64_t>(at.chunk) * table.table->chunk_rows &&
      head.rows == rows_of_entry(table, entry);
  if (!expected) fail_changed(table, entry);
  return head;
}

std::vector<std::byte> RowReader::stored(const ColumnPlan& column, std::size_t entry) {
  const TablePlan& table = plan_.table_of(column);
  const ChunkEntry& at = table.entries[entry];
  const ColumnPlace place = head(table, entry).columns[column.source.value()];
  std::vector<std::byte> bytes(place.bytes);
  file(at.file).read(at.offset + place.offset, bytes);
  if (crc32c(bytes) != place.crc) fail_changed(table, entry);
  return bytes;
}

void RowReader::fail_changed(const TablePlan& table, std::size_t entry) const {
  const ChunkEntry& at = table.entries[entry];
  throw Failure({"E604",
                 ExitCode::corrupt,
                 "chunk " + std::to_string(at.chunk) + " of '" + table.table->spec.path +
                     "' is not what was journaled",
                 {"  --> " + journal_->files()[at.file].string()},
                 "start the same command again: the chunk is made anew"});
}

const PositionedFile& RowReader::file(std::uint32_t index) {
  const auto found = open_.find(index);
  if (found != open_.end()) return found->second;
  if (open_.size() >= kOpenLedgers) open_.clear();
  return open_.emplace(index, PositionedFile(journal_->files()[index])).first->second;
}

}  // namespace mgpu::store
