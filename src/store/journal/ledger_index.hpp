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

/// The process that wrote a ledger.
struct LedgerWriterId {
  std::uint32_t attempt = 0;
  int rank = 0;
};

/// Returns the attempt and the rank in `name`, which must be a result of ledger_name().
LedgerWriterId writer_of(const std::string& name);

/// Lists the chunks that the ledgers of a run directory hold.
struct LedgerIndex {
  std::vector<fs::path> files;      // ledgers, sorted by (attempt, rank)
  std::vector<ChunkEntry> entries;  // sorted by (phase, chunk, file, offset)
  std::vector<LedgerDamage> damage;

  /// Adds `found` to `entries`. A record with an empty payload voids the earlier records of its
  /// chunk. Removes voided and empty records, and keeps only the first of the remaining records of
  /// each chunk, in the order (file, offset).
  void add(const std::vector<ChunkEntry>& found);
};

/// Reads the ledgers in folder `parts`: those of all attempts before `attempt`, or of all attempts
/// if `attempt` is empty.
///
/// Ranks:  collective; each file is read by one rank, and all ranks get all records.
/// Errors: those of scan_ledger(), on all ranks.
LedgerIndex read_ledgers(const cluster::Group& group, const fs::path& parts,
                         std::optional<std::uint32_t> attempt);

}  // namespace mgpu::store
