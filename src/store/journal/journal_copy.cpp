#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/store/journal/journal_copy.hpp>

#include "ledger_index.hpp"

namespace mgpu::store {
namespace {

/// A stored chunk that can be copied. `directory` is an index into the `directories` of
/// copy_chunks().
struct Source {
  std::size_t directory = 0;
  ChunkEntry entry;
};

class JournalCopy {
public:
  JournalCopy(const cluster::Group& group, std::span<const fs::path> directories)
      : group_(group), directories_(directories) {
    for (const fs::path& directory : directories)
      indices_.push_back(read_ledgers(group, directory / "parts", std::nullopt));
    for (std::size_t d = 0; d < indices_.size(); ++d)
      for (const ChunkEntry& entry : indices_[d].entries)
        sources_.push_back({d, entry});
    std::sort(sources_.begin(), sources_.end(), [](const Source& a, const Source& b) {
      return std::tie(a.entry.phase, a.entry.chunk, a.directory) <
             std::tie(b.entry.phase, b.entry.chunk, b.directory);
    });
  }

  /// Throws Failure E610 if the run directories that have chunks have no phase in common. The id of
  /// a phase depends on the inputs of the run (see run::phase_of()), so runs without a common phase
  /// used different data or weights.
  void check_phases() const {
    std::set<std::uint32_t> shared;
    std::size_t first = directories_.size();
    for (std::size_t d = 0; d < indices_.size(); ++d) {
      std::set<std::uint32_t> mine;
      for (const ChunkEntry& entry : indices_[d].entries)
        mine.insert(entry.phase);
      if (mine.empty()) continue;
      if (first == directories_.size()) {
        first = d;
        shared = mine;
      }
      std::erase_if(shared, [&](std::uint32_t phase) { return !mine.contains(phase); });
      if (shared.empty()) refuse(first, d, "these runs are of other data, or of another model");
    }
  }

  void run(ChunkJournal& journal, const UpgradeChunk& upgrade) const {
    const auto ranks = static_cast<std::size_t>(group_.size());
    std::size_t number = 0;
    for (std::size_t i = 0; i < sources_.size(); ++number) {
      std::size_t end = i + 1;
      while (end < sources_.size() && is_same_chunk(sources_[i], sources_[end]))
        ++end;
      if (number % ranks == static_cast<std::size_t>(group_.rank())) copy(i, end, journal, upgrade);
      i = end;
    }
  }

private:
  static bool is_same_chunk(const Source& a, const Source& b) {
    return a.entry.phase == b.entry.phase && a.entry.chunk == b.entry.chunk;
  }

  void copy(std::size_t begin, std::size_t end, ChunkJournal& journal,
            const UpgradeChunk& upgrade) const {
    const Source& first = sources_[begin];
    const std::vector<std::byte> payload = payload_of(first);
    for (std::size_t other = begin + 1; other < end; ++other)
      if (payload_of(sources_[other]) != payload)
        refuse(first.directory, sources_[other].directory,
               "chunk " + std::to_string(first.entry.chunk) + " is not the same in both runs");
    journal.append(first.entry.phase, first.entry.chunk, upgrade ? upgrade(payload) : payload);
  }

  std::vector<std::byte> payload_of(const Source& source) const {
    std::vector<std::byte> payload(source.entry.length);
    const PositionedFile file(indices_[source.directory].files[source.entry.file]);
    file.read(source.entry.offset, payload);
    return payload;
  }

  [[noreturn]] void refuse(std::size_t a, std::size_t b, const std::string& sentence) const {
    throw Failure({"E610",
                   ExitCode::data,
                   sentence,
                   {"  --> " + directories_[a].string(), "  --> " + directories_[b].string()},
                   "leave one of them out, and make its part anew with --only"});
  }

  const cluster::Group& group_;
  std::span<const fs::path> directories_;
  std::vector<LedgerIndex> indices_;
  std::vector<Source> sources_;  // sorted by (phase, chunk, directory)
};

}  // namespace

void copy_chunks(const cluster::Group& group, std::span<const fs::path> directories,
                 ChunkJournal& journal, const UpgradeChunk& upgrade) {
  const JournalCopy copy(group, directories);
  cluster::run_together(group, [&] {
    copy.check_phases();
    copy.run(journal, upgrade);
  });
  journal.commit();
}

}  // namespace mgpu::store
