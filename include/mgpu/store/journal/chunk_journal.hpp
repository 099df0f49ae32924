#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>

namespace mgpu::store {

/// One journaled chunk: which ledger file has it, and where.
struct ChunkEntry {
  std::uint32_t phase = 0;
  std::uint32_t file = 0;  // index into ChunkJournal::files()
  std::uint64_t chunk = 0;
  std::uint64_t offset = 0;  // bytes
  std::uint64_t length = 0;  // bytes
};

/// A stretch of a ledger that is neither a frame nor a torn tail; its chunks are made again.
struct LedgerDamage {
  std::string file;
  std::uint64_t offset = 0;  // bytes
  std::uint64_t bytes = 0;
};

/// Where finished chunks go, and how the next attempt finds them.
///
/// Each rank appends to a file of its own, parts/attempt_NNNN.rank_RRRR.ledger, in framed and
/// checksummed records; nobody writes to another attempt's file. A chunk counts once it is
/// synced, and of several records of one chunk the first (attempt, rank) wins, so the index is
/// the same on all ranks and at any rank count. An empty payload voids what was recorded of its
/// chunk before, which then is not finished.
///
/// Memory: 32 bytes per chunk and rank.
class ChunkJournal {
public:
  /// Finds what earlier attempts left, and opens this attempt's files.
  ///
  /// `sync_s`: at most so many seconds of work are lost when the power goes (ledger.sync_s).
  /// Ranks:  collective.
  /// Errors: Failure on all ranks: E601, E602, E603, E605.
  ChunkJournal(std::filesystem::path run_directory, const cluster::Group& group,
               std::uint32_t attempt, double sync_s = 1.0);
  ~ChunkJournal();
  ChunkJournal(const ChunkJournal&) = delete;
  ChunkJournal& operator=(const ChunkJournal&) = delete;

  /// Ids of the phase's finished chunks, ascending; the same on all ranks until commit().
  std::vector<std::uint64_t> done(std::uint32_t phase) const;

  /// Records a finished chunk. Local: no rank waits for another.
  ///
  /// Errors: Failure E602 on this rank only; the caller brings it to all (run_together).
  void append(std::uint32_t phase, std::uint64_t chunk, std::span<const std::byte> payload);

  /// Syncs and closes every rank's file, then exchanges what was appended: from here on all
  /// ranks may read all chunks. append() may follow.
  ///
  /// Ranks:  collective.
  /// Errors: Failure E602 on all ranks.
  void commit();

  /// The phase's chunks by ascending id, as of the last commit().
  std::vector<ChunkEntry> entries(std::uint32_t phase) const;

  /// Paths of all ledger files, by (attempt, rank).
  const std::vector<std::filesystem::path>& files() const;

  /// What recovery found damaged; the same on all ranks.
  const std::vector<LedgerDamage>& damage() const;

  std::uint32_t attempt() const;

private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::store
