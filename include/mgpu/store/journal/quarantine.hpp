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

/// Samples that a rank works on together: a chunk, or one sample of it.
struct WorkSpan {
  std::uint32_t phase = 0;  // as in the journal
  std::int64_t first = 0;
  std::int64_t count = 0;

  bool contains(std::uint32_t of_phase, std::int64_t sample) const {
    return of_phase == phase && sample >= first && sample < first + count;
  }
};

/// A rank that died first, by itself, while it was working.
struct Death {
  std::uint32_t attempt = 0;
  int rank = 0;
  std::string host;
  WorkSpan span;
  std::string cause;  // see DeathNote
};

/// A sample that is not worked on any more.
struct QuarantinedRow {
  std::uint32_t phase = 0;
  std::int64_t sample = 0;
  std::string reason;  // the same however many ranks there were
};

/// The samples at which a rank died twice: at the later death it worked on them alone, and the
/// earlier one is not that of another such sample of the same chunk. In the order of `deaths`.
std::vector<QuarantinedRow> judge_deaths(std::span<const Death> deaths);

/// What ranks of earlier attempts died of, and what this one works on, in case it dies.
///
/// working/attempt_NNNN.rank_RRRR says what a rank is at: one small write where it begins and ends,
/// which outlives the process. The next attempt takes what the rank of attempts/NNNN.died was at
/// into quarantine.jsonl, a line for each death.
class Quarantine {
public:
  /// Ranks:  collective.
  /// Errors: Failure on all ranks: E601, E602, E603; E604 (exit 80) for a damaged quarantine.jsonl.
  Quarantine(std::filesystem::path run_directory, const cluster::Group& world,
             std::uint32_t attempt);
  ~Quarantine();
  Quarantine(const Quarantine&) = delete;
  Quarantine& operator=(const Quarantine&) = delete;

  /// This rank works on these samples from now on. Local. Where that cannot be written down,
  /// nothing but what the next attempt knows is lost.
  ///
  /// Failpoint: sample.N for each sample N.
  void begin(const WorkSpan& span);
  void end();

  /// Whether a rank died with some of these samples, so that they are worked on one by one.
  bool is_suspect(const WorkSpan& span) const;

  /// Why the sample is not worked on; nullptr where it is.
  const std::string* reason(std::uint32_t phase, std::int64_t sample) const;

  const std::vector<QuarantinedRow>& rows() const { return rows_; }
  const std::vector<Death>& deaths() const { return deaths_; }
  std::filesystem::path file() const { return directory_ / "quarantine.jsonl"; }

  /// Gives the quarantined samples another chance: voids their chunks in the journal, and sets the
  /// file aside as quarantine.before_ATTEMPT.jsonl.
  ///
  /// Ranks:  collective.
  /// Errors: Failure E602 on all ranks.
  void forget(const cluster::Group& world, ChunkJournal& journal, std::int64_t chunk_rows);

  /// Removes what the ranks of this attempt were at, once all is done. Local.
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
