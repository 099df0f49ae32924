#pragma once

#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include <mgpu/store/results/seal.hpp>

namespace mgpu::store::test {

/// Writes a result file of one table, `folder`/results.h5, and returns its path. The rows are one
/// chunk.
///
/// Ranks: collective; all rows come from rank 0.
inline std::filesystem::path seal_table(const cluster::Group& group,
                                        const std::filesystem::path& folder, TableSpec table,
                                        std::span<const std::byte> rows,
                                        std::vector<AttributeGroup> groups = {}) {
  constexpr std::uint32_t kPhaseOfTable = 3;
  std::filesystem::create_directories(folder / "parts");
  ChunkJournal journal(folder, group, 1);
  if (group.rank() == 0) journal.append(kPhaseOfTable, 0, rows);
  journal.commit();
  SealRequest request;
  request.path = folder / "results.h5";
  request.attempt = 1;
  request.groups = std::move(groups);
  const std::int64_t chunk_rows = table.rows;
  request.tables = {{std::move(table), kPhaseOfTable, chunk_rows}};
  seal(group, journal, request);
  return request.path;
}

}  // namespace mgpu::store::test
