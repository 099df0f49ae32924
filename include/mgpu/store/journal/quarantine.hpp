#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

namespace mgpu::store {

/// Consecutive samples that a rank works on together: a chunk, or a single sample.
struct WorkSpan {
  std::uint32_t phase = 0;  // id of the phase, as in the journal
  std::int64_t first = 0;
  std::int64_t count = 0;

  bool contains(std::uint32_t of_phase, std::int64_t sample) const {
    return of_phase == phase && sample >= first && sample < first + count;
  }
};

/// A death of a rank while it processed samples. Only the rank that died first in an attempt is
/// recorded, not ranks that died in consequence.
struct Death {
  std::uint32_t attempt = 0;
  int rank = 0;  // in the world
  std::string host;
  WorkSpan span;
  std::string cause;  // such as "SIGSEGV" or "hang", see DeathNote
};

/// A sample that the run skips from now on.
struct QuarantinedRow {
  std::uint32_t phase = 0;
  std::int64_t sample = 0;
  std::string reason;  // why the sample is skipped; does not depend on the number of ranks
};

/// Returns the samples that caused two deaths of ranks, in the order of the second deaths. At the
/// first death, the rank worked on the sample, alone or together with other samples. At the second
/// death, the rank worked on the sample alone. A death counts as the first death for at most one
/// sample.
std::vector<QuarantinedRow> rows_to_quarantine(std::span<const Death> deaths);

/// Records the samples that each rank works on, and finds those that killed ranks of earlier
/// attempts.
///
/// File working/attempt_NNNN.rank_RRRR names the current samples of a world rank. Each begin() and
/// end() is one small write, which survives the death of the process. If the death note
/// attempts/NNNN.died names a rank, the next attempt adds a line with that rank's samples to
/// quarantine.jsonl. A death does not count if the launcher wrote the death note although other
/// ranks ran on the same host. In this case the whole node probably failed. If only one rank had
/// died, the watchdog of another rank would have written the note.
class Quarantine {
public:
  /// Adds new deaths to quarantine.jsonl, removes the files of earlier attempts from working/, and
  /// sets the path of this attempt's death note. The destructor restores the previous path.
  ///
  /// Ranks:  collective over `group`, the ranks of the run directory.
  /// Errors: Failure on all ranks: E601 (cannot be created), E602 (write failed), E603 (read
  ///         failed); E604 (exit 80) for a damaged quarantine.jsonl.
  Quarantine(std::filesystem::path run_directory, const cluster::Group& group,
             std::uint32_t attempt);
  ~Quarantine();
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;

  /// Records that this rank works on the samples of `span` from now on. A failed write is ignored.
  /// If the write fails and this rank dies, the next attempt does not know the samples.
  ///
  /// Ranks:  local.
  /// Failpoints: sample.N for each sample id N of `span`.
  void begin(const WorkSpan& span);
  /// Records that this rank works on no samples. A failed write is ignored. Any rank may call it
  /// alone.
  void end();

  /// Returns whether a rank of an earlier attempt died while it worked on a sample of `span`. If
  /// so, the caller should process the samples one by one.
  bool is_suspect(const WorkSpan& span) const;

  /// Returns the reason why a sample is skipped; nullptr if it is not skipped.
  const std::string* reason(std::uint32_t phase, std::int64_t sample) const;

  const std::vector<QuarantinedRow>& rows() const { return rows_; }
  const std::vector<Death>& deaths() const { return deaths_; }
  std::filesystem::path file() const { return directory_ / "quarantine.jsonl"; }

  /// Ends the quarantine of all samples, so that the run processes them again, and forgets all
  /// deaths. Marks the chunks of the quarantined samples as not finished in the journal. Renames
  /// quarantine.jsonl to quarantine.before_ATTEMPT.jsonl. `chunk_rows` is the number of samples per
  /// chunk.
  ///
  /// Ranks:  collective over `group`, that of the constructor.
  /// Errors: Failure E601 (cannot be created) or E602 (write failed) on all ranks.
  void forget(const cluster::Group& group, ChunkJournal& journal, std::int64_t chunk_rows);

  /// Removes the files of this and earlier attempts from working/. Call it on one rank, when all
  /// samples are done.
  void clear_marks() const;

private:
  class Mark;

  std::filesystem::path directory_;
  std::uint32_t attempt_;
  int world_rank_;
  std::string note_before_;  // the path of the death note before this object was made
  std::vector<Death> deaths_;
  std::vector<QuarantinedRow> rows_;
  std::unique_ptr<Mark> mark_;
};

}  // namespace mgpu::store
