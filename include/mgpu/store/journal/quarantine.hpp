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

/// Samples that a rank works on together: a chunk, or a single sample.
struct WorkSpan {
  std::uint32_t phase = 0;  // as in the journal
  std::int64_t first = 0;
  std::int64_t count = 0;

  bool contains(std::uint32_t of_phase, std::int64_t sample) const {
    return of_phase == phase && sample >= first && sample < first + count;
  }
};

/// The death of the rank that died first in an attempt, not as a consequence of another death,
/// while it processed samples.
struct Death {
  std::uint32_t attempt = 0;
  int rank = 0;
  std::string host;
  WorkSpan span;
  std::string cause;  // see DeathNote
};

/// A sample that is skipped from now on.
struct QuarantinedRow {
  std::uint32_t phase = 0;
  std::int64_t sample = 0;
  std::string reason;  // does not depend on the number of ranks
};

/// Returns the samples that killed a rank twice, in the order of `deaths`. At the earlier death the
/// rank worked on the sample, alone or with others; at the later death on the sample alone. Each
/// earlier death counts for one sample only.
std::vector<QuarantinedRow> rows_to_quarantine(std::span<const Death> deaths);

/// Records the samples that each rank works on, and finds those that killed ranks of earlier
/// attempts.
///
/// File working/attempt_NNNN.rank_RRRR names the current samples of a rank. Each begin and end is
/// one small write, which outlives the process. If attempts/NNNN.died names a rank, the next
/// attempt adds the samples of that rank to quarantine.jsonl, a line for each death.
class Quarantine {
public:
  /// Ranks:  collective.
  /// Errors: Failure on all ranks: E601, E602, E603; E604 (exit 80) for a damaged quarantine.jsonl.
  Quarantine(std::filesystem::path run_directory, const cluster::Group& world,
             std::uint32_t attempt);
  ~Quarantine();
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;

  /// Records that this rank works on these samples from now on. Local. A failed write is ignored:
  /// only the next attempt lacks the information.
  ///
  /// Failpoint: sample.N for each sample N.
  void begin(const WorkSpan& span);
  void end();

  /// Returns whether a rank died while working on some of these samples. If so, the caller
  /// processes them one by one.
  bool is_suspect(const WorkSpan& span) const;

  /// Returns the reason why the sample is skipped; nullptr if it is not.
  const std::string* reason(std::uint32_t phase, std::int64_t sample) const;

  const std::vector<QuarantinedRow>& rows() const { return rows_; }
  const std::vector<Death>& deaths() const { return deaths_; }
  std::filesystem::path file() const { return directory_ / "quarantine.jsonl"; }

  /// Gives the quarantined samples another chance: voids their chunks in the journal, and renames
  /// quarantine.jsonl to quarantine.before_ATTEMPT.jsonl.
  ///
  /// Ranks:  collective.
  /// Errors: Failure E602 on all ranks.
  void forget(const cluster::Group& world, ChunkJournal& journal, std::int64_t chunk_rows);

  /// Removes all files that name the ranks' current samples, after the work is done. Local.
  void clear_marks() const;

private:
  class Mark;

  std::filesystem::path directory_;
  std::uint32_t attempt_;
  int rank_;
  std::vector<Death> deaths_;
  std::vector<QuarantinedRow> rows_;
  std::unique_ptr<Mark> mark_;
};

}  // namespace mgpu::store
