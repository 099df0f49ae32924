#include <algorithm>
#include <string_view>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/store/results/read_chunks.hpp>

#include "seal_plan.hpp"

namespace mgpu::store {
namespace {

/// Returns the bytes of one column for all journaled chunks, whose number is `entries`. Each rank
/// reads some of the chunks.
/// Ranks:  collective over `group`.
std::vector<std::byte> gather_column(const cluster::Group& group, RowReader& reader,
                                     const ColumnPlan& column, std::size_t entries) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const auto rank = static_cast<std::size_t>(group.rank());
  std::vector<std::byte> mine;
  cluster::run_together(group, [&] {
    mine = reader.numbers(column, {entries * rank / ranks, entries * (rank + 1) / ranks});
  });
  std::vector<std::byte> all;
  const std::string_view bytes(reinterpret_cast<const char*>(mine.data()), mine.size());
  for (const std::string& theirs : group.all_gather(bytes)) {
    const auto part = std::as_bytes(std::span(theirs));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

ReadTable read_chunks(const cluster::Group& group, const ChunkJournal& journal,
                      const ChunkedTable& table, std::span<const std::string> columns) {
  SealRequest request;
  request.tables = {table};
  request.partial = true;
  const SealPlan plan = make_plan(&journal, request);
  const TablePlan& rows = plan.tables.front();
  ReadTable read{rows.rows, table.spec.rows - rows.rows, {}};
  RowReader reader(&journal, plan);
  std::size_t found = 0;
  for (const ColumnPlan& column : plan.columns) {
    const bool is_asked = std::ranges::find(columns, column.spec.name) != columns.end();
    const bool is_number = column.part == ColumnPart::whole;
    if (!is_number || (column.source && !is_asked)) continue;
    if (column.source) ++found;
    read.columns.push_back(
        {column.spec, gather_column(group, reader, column, rows.entries.size())});
  }
  if (found != columns.size()) throw Error("read_chunks: a column is missing or has no numbers");
  return read;
}

}  // namespace mgpu::store
