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

/// Where the journal stores one chunk (consecutive rows of a result table): the ledger file, and
/// the offset in that file.
struct ChunkEntry {
  std::uint32_t phase = 0;   // id of the phase that made the chunk
  std::uint32_t file = 0;    // index into ChunkJournal::files()
  std::uint64_t chunk = 0;   // id of the chunk in its phase
  std::uint64_t offset = 0;  // where the payload begins in the file, in bytes
  std::uint64_t length = 0;  // size of the payload, in bytes
};

/// Which attempt and rank finished a chunk.
struct ChunkWork {
  std::uint32_t phase = 0;  // id of the phase that made the chunk
  std::uint64_t chunk = 0;  // id of the chunk in its phase
  std::uint32_t attempt = 0;
  int rank = 0;  // world rank in that attempt
};

/// A range of bytes in a ledger that holds no intact record, although an intact record follows the
/// range. A broken record at the end of a ledger is not damage: a process that is killed during a
/// write leaves one. Chunks that were stored in the range are computed again.
struct LedgerDamage {
  std::string file;
  std::uint64_t offset = 0;  // in bytes
  std::uint64_t bytes = 0;
};

/// Stores finished chunks, and finds those of earlier attempts (earlier starts of the program for
/// the same run).
///
/// Each rank appends framed, checksummed records to a separate file,
/// parts/attempt_NNNN.rank_RRRR.ledger. No rank writes to another attempt's file. A chunk of an
/// earlier attempt counts as finished if its record is intact. A chunk of this attempt counts as
/// finished after commit(). A power failure can lose records that were not synced. Records are
/// ordered by their files, as in files(), and then by their offsets. If a chunk has several
/// records, the first one counts, so all ranks use the same record. A record with an empty payload
/// voids the earlier records of its chunk. If no later record follows, the chunk counts as not
/// finished.
/// Memory: 32 bytes per chunk, on each rank.
class ChunkJournal {
public:
  /// Reads the ledgers of earlier attempts, and creates the ledgers of this attempt, one per rank.
  /// `group` must outlive the journal.
  ///
  /// append() syncs the ledger if the last sync was at least `sync_s` seconds ago (ledger.sync_s).
  /// A power failure loses the chunks that were appended after the last sync.
  /// Ranks:  collective over `group`.
  /// Errors: Failure on all ranks: E601 (cannot be created), E602 (write failed), E603 (read
  ///         failed), E604 (a ledger became shorter while it was read), E605 (ledger of another
  ///         version).
  ChunkJournal(std::filesystem::path run_directory, const cluster::Group& group,
               std::uint32_t attempt, double sync_s = 1.0);
  ~ChunkJournal();
  ChunkJournal(const ChunkJournal&) = delete;
  ChunkJournal& operator=(const ChunkJournal&) = delete;

  /// Returns the ids of the phase's finished chunks, ascending: those of earlier attempts, and
  /// those of this attempt as of the last commit(). All ranks get the same ids.
  std::vector<std::uint64_t> done(std::uint32_t phase) const;

  /// Records a finished chunk.
  ///
  /// Ranks:  local; no rank waits for another.
  /// Errors: Failure E601 (cannot be created) or E602 (write failed) on this rank only; the caller
  ///         passes it on to all ranks, for example by run_together().
  void append(std::uint32_t phase, std::uint64_t chunk, std::span<const std::byte> payload);

  /// Syncs and closes every rank's ledger, then exchanges the records that were appended since the
  /// last commit(). Afterwards every rank may read all chunks. append() may follow.
  ///
  /// Ranks:  collective over the constructor's `group`.
  /// Errors: Failure E602 on all ranks.
  void commit();

  /// Returns where the phase's finished chunks are stored, by ascending id, as of the last
  /// commit().
  std::vector<ChunkEntry> entries(std::uint32_t phase) const;

  /// Returns which attempt and rank finished each chunk, as of the last commit(). The chunks of all
  /// phases are sorted by phase, then by chunk.
  std::vector<ChunkWork> work() const;

  /// Returns the paths of all ledger files, sorted by (attempt, rank).
  const std::vector<std::filesystem::path>& files() const;

  /// Returns the damaged ranges that the constructor found in all ledgers. All ranks get the same
  /// list.
  const std::vector<LedgerDamage>& damage() const;

  std::uint32_t attempt() const;

private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::store
