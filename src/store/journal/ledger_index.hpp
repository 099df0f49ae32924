#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

#include "ledger_file.hpp"

namespace mgpu::store {

std::string ledger_name(std::uint32_t attempt, int rank);

/// The content of the ledgers of a run directory.
struct LedgerIndex {
  std::vector<fs::path> files;      // by (attempt, rank)
  std::vector<ChunkEntry> entries;  // by (phase, chunk, file, offset)
  std::vector<LedgerDamage> damage;

  /// Adds records. Keeps one of each chunk: the first after the last empty record, if any.
  void add(const std::vector<ChunkEntry>& found);
};

/// Reads the ledgers in `parts`, except those of attempt `attempt` and later ones.
///
/// Ranks:  collective; one rank reads each file, and all ranks get all records.
/// Errors: Failure E603, E605 on all ranks.
LedgerIndex read_ledgers(const cluster::Group& group, const fs::path& parts,
                         std::optional<std::uint32_t> attempt);

}  // namespace mgpu::store
