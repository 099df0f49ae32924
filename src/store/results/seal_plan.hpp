#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>
#include <mgpu/store/journal/chunk_payload.hpp>
#include <mgpu/store/results/seal.hpp>

#include "store/journal/ledger_file.hpp"

// The plan of a seal: its data sets, and the source of each row. It is the same on all ranks.
namespace mgpu::store {

enum class ColumnKind { contiguous, compressed };

/// Which part of its column a data set holds: all, or one half of a list column.
enum class ColumnPart { whole, offsets, values };

struct TablePlan {
  const ChunkedTable* table = nullptr;
  std::vector<ChunkEntry> entries;  // by chunk id; entry i holds sealed rows from i * chunk_rows
  std::int64_t rows = 0;            // sealed: fewer than spec.rows in a partial file
  // [columns][entries + 1]: where each entry's lists begin among the column's values; empty for
  // columns without lists
  std::vector<std::vector<std::int64_t>> list_starts;
};

struct ColumnPlan {
  std::size_t table = 0;              // index into SealPlan::tables
  std::optional<std::size_t> source;  // column of the payload; empty: the ids
  ColumnSpec spec;
  std::string dataset;  // path in the file
  ColumnKind kind = ColumnKind::contiguous;
  std::int64_t unit_entries = 1;  // journaled chunks that form one HDF5 chunk
  ColumnPart part = ColumnPart::whole;
};

/// Entries [first, last) of a table.
struct EntryRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct SealPlan {
  std::vector<TablePlan> tables;
  std::vector<ColumnPlan> columns;

  const TablePlan& table_of(const ColumnPlan& column) const { return tables[column.table]; }

  /// Returns the rows of the data set: those of its table, or the offsets or values of a list
  /// column.
  std::int64_t rows_of(const ColumnPlan& column) const;
  std::int64_t first_row(const ColumnPlan& column, std::size_t entry) const;
  std::int64_t rows_in(const ColumnPlan& column, EntryRange range) const;

  /// Returns the bytes of the column's largest unit, which is what cannot be divided among ranks;
  /// never 0.
  std::int64_t unit_bytes(const ColumnPlan& column) const;
};

/// Plans the seal.
/// Errors: Error when chunks are missing and the request is not for a partial file, or two columns
///         have the same place in the file.
SealPlan make_plan(const ChunkJournal* journal, const SealRequest& request);

/// Fills in list_starts: each rank reads its part of the journaled chunks.
///
/// Ranks:  collective.
/// Errors: the same Failure on all ranks: E603, E604.
void measure_lists(const cluster::Group& group, const ChunkJournal* journal, SealPlan& plan);

/// Divides the entries of a column among the ranks in one or more passes. Ranks take neighboring
/// ranges, so that a pass covers one range of the file at any number of ranks.
class Passes {
public:
  /// `bytes_per_rank` limits how much of the column a rank holds at a time; at least one unit.
  Passes(const SealPlan& plan, const ColumnPlan& column, int ranks, std::int64_t bytes_per_rank);

  std::int64_t count() const { return passes_; }
  EntryRange range(std::int64_t pass, int rank) const;

private:
  std::int64_t entries_;
  std::int64_t unit_entries_;
  std::int64_t units_per_rank_;
  int ranks_;
  std::int64_t passes_;
};

/// Reads journaled rows, column by column. Local.
///
/// Errors: Failure E603, E604 (the bytes differ from the journaled ones).
class RowReader {
public:
  RowReader(const ChunkJournal* journal, const SealPlan& plan) : journal_(journal), plan_(plan) {}

  /// Returns the stored bytes of a number column for these entries.
  std::vector<std::byte> numbers(const ColumnPlan& column, EntryRange range);

  /// Returns the number of items in the lists of one entry.
  std::int64_t list_items(const TablePlan& table, std::size_t column, std::size_t entry);

private:
  std::vector<std::byte> ids(const ColumnPlan& column, EntryRange range) const;
  std::vector<std::byte> part_of_lists(const ColumnPlan& column, std::size_t entry);
  ChunkHead head(const TablePlan& table, std::size_t entry);
  std::vector<std::byte> stored(const ColumnPlan& column, std::size_t entry);
  const PositionedFile& file(std::uint32_t index);
  [[noreturn]] void fail_changed(const TablePlan& table, std::size_t entry) const;

  const ChunkJournal* journal_;
  const SealPlan& plan_;
  std::map<std::uint32_t, PositionedFile> open_;
};

}  // namespace mgpu::store
