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

// SealPlan describes the HDF5 file that seal() writes from the journal. It lists the HDF5 data
// sets, and the journaled chunks from which their rows come. All ranks have the same plan.
namespace mgpu::store {

enum class ColumnKind { contiguous, compressed };

/// The part of a column that an HDF5 data set holds: the whole column, or the offsets or the values
/// of a list column.
enum class ColumnPart { whole, offsets, values };

struct TablePlan {
  const ChunkedTable* table = nullptr;
  std::vector<ChunkEntry> entries;  // by chunk id; entry i begins at row i * chunk_rows of the file
  std::int64_t rows = 0;            // rows in the file; fewer than spec.rows if chunks are missing
  // [columns][entries + 1]: for each entry, the number of items of the column in earlier entries;
  // the last element is the number of all items. Empty for columns without lists.
  std::vector<std::vector<std::int64_t>> list_starts;
};

struct ColumnPlan {
  std::size_t table = 0;              // index into SealPlan::tables
  std::optional<std::size_t> source;  // index of the column in the payload; empty: column `id`
  ColumnSpec spec;
  std::string dataset;  // path of the HDF5 data set in the file
  ColumnKind kind = ColumnKind::contiguous;
  std::int64_t unit_entries = 1;  // journaled chunks that form one HDF5 chunk
  ColumnPart part = ColumnPart::whole;
};

/// The range [first, last) of TablePlan::entries.
struct EntryRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct SealPlan {
  std::vector<TablePlan> tables;
  std::vector<ColumnPlan> columns;

  const TablePlan& table_of(const ColumnPlan& column) const { return tables[column.table]; }

  /// Returns the number of rows of an HDF5 data set:
  /// - For a whole column, it is the number of rows of the table.
  /// - For the offsets of a list column, it is the number of rows of the table, plus 1.
  /// - For the values of a list column, it is the number of items in all lists.
  std::int64_t rows_of(const ColumnPlan& column) const;
  std::int64_t first_row(const ColumnPlan& column, std::size_t entry) const;
  std::int64_t rows_in(const ColumnPlan& column, EntryRange range) const;

  /// Returns the size of the column's largest unit in bytes, at least 1. A unit consists of
  /// ColumnPlan::unit_entries consecutive journaled chunks, which the same rank must write.
  std::int64_t unit_bytes(const ColumnPlan& column) const;
};

/// Returns the plan of a seal.
/// Errors: Error when
///         - a table is not valid or has a column `id`
///         - two columns would be written to the same HDF5 data set
///         - there are tables but no journal
///         - the journal has a chunk beyond the end of a table
///         - chunks are missing and SealRequest::partial is not set
SealPlan make_plan(const ChunkJournal* journal, const SealRequest& request);

/// Fills in TablePlan::list_starts of all tables. Each rank reads some of the journaled chunks.
///
/// Ranks:  collective.
/// Errors: the same Failure on all ranks: E603 (cannot be read), E604 (damaged).
void measure_lists(const cluster::Group& group, const ChunkJournal* journal, SealPlan& plan);

/// Divides the journaled chunks of a column (TablePlan::entries) among the ranks, in one or more
/// rounds, called passes. In a pass, the ranks take adjacent ranges. So a pass covers one
/// contiguous range of the HDF5 data set, for any number of ranks.
class Passes {
public:
  /// A rank holds at most `bytes_per_rank` bytes of the column at a time, but at least one unit
  /// (see SealPlan::unit_bytes).
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

/// Reads journaled rows, column by column.
///
/// Ranks:  local.
/// Errors: Failure E603 (cannot be read), E604 (the bytes differ from the journaled ones).
class RowReader {
public:
  RowReader(const ChunkJournal* journal, const SealPlan& plan) : journal_(journal), plan_(plan) {}

  /// Returns the bytes that the HDF5 data set of `column` holds for the journal entries in `range`.
  std::vector<std::byte> numbers(const ColumnPlan& column, EntryRange range);

  /// Returns the number of items in all lists of one entry. `column` is an index into the columns
  /// of the payload.
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
