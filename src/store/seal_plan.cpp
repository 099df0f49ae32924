#include "seal_plan.hpp"

#include <algorithm>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/store/chunk_payload.hpp>

#include "byte_order.hpp"

namespace mgpu::store {
namespace {

constexpr std::int64_t kMinCompressedBytes = 64 << 10;  // below, a chunk index costs more
constexpr std::int64_t kHdf5ChunkBytes = 1 << 20;       // HDF5's chunk cache of one data set
constexpr std::int64_t kMaxHdf5ChunkBytes = 64 << 20;   //
constexpr std::size_t kOpenLedgers = 64;

TablePlan plan_table(const ChunkJournal* journal, const ChunkedTable& table, bool partial) {
  table.spec.validate();
  if (journal == nullptr) throw Error("journaled tables need a journal");
  if (table.chunk_rows < 1) throw Error("chunk_rows must be positive");
  TablePlan plan{&table, journal->entries(table.phase), 0};
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

/// Kind and unit follow from shapes and configuration alone, never from the number of ranks.
void choose_layout(ColumnPlan& column, const TablePlan& table, int gzip) {
  if (column.spec.type == ColumnType::text) {
    column.kind = ColumnKind::text;
    return;
  }
  const auto row_bytes = static_cast<std::int64_t>(column.spec.row_bytes());
  const std::int64_t entry_bytes = table.table->chunk_rows * row_bytes;
  const bool worth_it = table.rows * row_bytes >= kMinCompressedBytes;
  if (gzip == 0 || !worth_it || entry_bytes > kMaxHdf5ChunkBytes) return;
  column.kind = ColumnKind::compressed;
  column.unit_entries = std::max<std::int64_t>(1, kHdf5ChunkBytes / entry_bytes);
}

}  // namespace

std::int64_t SealPlan::first_row(const ColumnPlan& column, std::size_t entry) const {
  const TablePlan& table = table_of(column);
  return std::min(table.rows, static_cast<std::int64_t>(entry) * table.table->chunk_rows);
}

std::int64_t SealPlan::rows_in(const ColumnPlan& column, EntryRange range) const {
  return first_row(column, range.last) - first_row(column, range.first);
}

SealPlan make_plan(const ChunkJournal* journal, const SealRequest& request) {
  SealPlan plan;
  for (const ChunkedTable& table : request.tables) {
    plan.tables.push_back(plan_table(journal, table, request.partial));
    const auto add = [&](std::optional<std::size_t> source, const ColumnSpec& spec) {
      ColumnPlan column{plan.tables.size() - 1, source, spec, table.spec.path + "/" + spec.name};
      choose_layout(column, plan.tables.back(), request.gzip);
      plan.columns.push_back(std::move(column));
    };
    add(std::nullopt, {"id", ColumnType::i64, 1, "number of the sample in its data set", ""});
    for (std::size_t i = 0; i < table.spec.columns.size(); ++i) {
      if (table.spec.columns[i].name == "id") throw Error("the seal itself makes column 'id'");
      if (request.text || table.spec.columns[i].type != ColumnType::text) {
        add(i, table.spec.columns[i]);
      }
    }
  }
  return plan;
}

Passes::Passes(const SealPlan& plan, const ColumnPlan& column, int ranks,
               std::int64_t bytes_per_rank)
    : entries_(static_cast<std::int64_t>(plan.table_of(column).entries.size())),
      unit_entries_(column.unit_entries),
      ranks_(ranks) {
  const auto row_bytes = static_cast<std::int64_t>(column.spec.row_bytes());
  const std::int64_t unit_bytes =
      row_bytes * plan.table_of(column).table->chunk_rows * unit_entries_;
  const std::int64_t units = (entries_ + unit_entries_ - 1) / unit_entries_;
  const std::int64_t fair = (units + ranks - 1) / ranks;
  units_per_rank_ = std::max<std::int64_t>(1, std::min(fair, bytes_per_rank / unit_bytes));
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
    const std::vector<std::byte> part = stored(column, entry);
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

std::vector<std::string> RowReader::texts(const ColumnPlan& column, std::size_t entry) {
  return decode_texts(stored(column, entry), plan_.rows_in(column, {entry, entry + 1}));
}

std::vector<std::byte> RowReader::ids(const ColumnPlan& column, EntryRange range) const {
  const TablePlan& table = plan_.table_of(column);
  std::vector<std::byte> bytes;
  for (std::size_t entry = range.first; entry < range.last; ++entry) {
    const auto first =
        static_cast<std::int64_t>(table.entries[entry].chunk) * table.table->chunk_rows;
    for (std::int64_t i = 0; i < plan_.rows_in(column, {entry, entry + 1}); ++i)
      put(bytes, first + i);
  }
  return bytes;
}

std::vector<std::byte> RowReader::stored(const ColumnPlan& column, std::size_t entry) {
  const TablePlan& table = plan_.table_of(column);
  const TableSpec& spec = table.table->spec;
  const ChunkEntry& at = table.entries[entry];
  const PositionedFile& ledger = file(at.file);
  std::vector<std::byte> head_bytes(std::min<std::uint64_t>(ChunkHead::size(spec), at.length));
  ledger.read(at.offset, head_bytes);
  const ChunkHead head = ChunkHead::read(spec, head_bytes, at.length);
  const bool expected =
      head.first_row == static_cast<std::int64_t>(at.chunk) * table.table->chunk_rows &&
      head.rows == plan_.rows_in(column, {entry, entry + 1});
  const ColumnPlace& place = head.columns[column.source.value()];
  std::vector<std::byte> bytes(place.bytes);
  ledger.read(at.offset + place.offset, bytes);
  if (!expected || crc32c(bytes) != place.crc) {
    throw Failure(
        {"E604",
         ExitCode::corrupt,
         "chunk " + std::to_string(at.chunk) + " of '" + spec.path + "' is not what was journaled",
         {"  --> " + journal_->files()[at.file].string()},
         "start the same command again: the chunk is made anew"});
  }
  return bytes;
}

const PositionedFile& RowReader::file(std::uint32_t index) {
  const auto found = open_.find(index);
  if (found != open_.end()) return found->second;
  if (open_.size() >= kOpenLedgers) open_.clear();
  return open_.emplace(index, PositionedFile(journal_->files()[index])).first->second;
}

}  // namespace mgpu::store
