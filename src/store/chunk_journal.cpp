#include <algorithm>
#include <cstdio>
#include <regex>
#include <tuple>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/agree.hpp>
#include <mgpu/store/chunk_journal.hpp>

#include "ledger_file.hpp"

namespace mgpu::store {
namespace {

std::string ledger_name(std::uint32_t attempt, int rank) {
  char name[64];
  std::snprintf(name, sizeof name, "attempt_%04u.rank_%04d.ledger", attempt, rank);
  return name;
}

/// The attempt that a file name speaks of, or nothing for other files.
std::optional<std::uint32_t> attempt_of(const std::string& name) {
  static const std::regex kPattern(R"(attempt_(\d{4,9})\.rank_\d{4,9}\.ledger)");
  std::smatch match;
  if (!std::regex_match(name, match, kPattern)) return std::nullopt;
  return static_cast<std::uint32_t>(std::stoul(match[1]));
}

/// Names of earlier attempts' ledgers by (attempt, rank), one a line. Makes the folder.
std::string list_ledgers(const fs::path& parts, std::uint32_t attempt) {
  std::error_code error;
  fs::create_directories(parts, error);
  if (error) {
    throw Failure({"E601",
                   ExitCode::cannot_create,
                   "cannot create the folder of the ledgers: " + error.message(),
                   {"  --> " + parts.string()},
                   "choose another folder: --output DIR"});
  }
  std::vector<std::pair<std::size_t, std::string>> names;  // longer numbers sort behind
  for (const fs::directory_entry& entry : fs::directory_iterator(parts)) {
    const std::string name = entry.path().filename().string();
    const std::optional<std::uint32_t> owner = attempt_of(name);
    if (owner && *owner < attempt) names.emplace_back(name.size(), name);
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const auto& [length, name] : names)
    text += name + '\n';
  return text;
}

struct DamageEntry {
  std::uint64_t file = 0;
  DamagedRange range;
};

bool by_winner(const ChunkEntry& a, const ChunkEntry& b) {
  return std::tie(a.phase, a.chunk, a.file, a.offset) <
         std::tie(b.phase, b.chunk, b.file, b.offset);
}

bool same_chunk(const ChunkEntry& a, const ChunkEntry& b) {
  return a.phase == b.phase && a.chunk == b.chunk;
}

}  // namespace

class ChunkJournal::State {
public:
  State(const fs::path& run_directory, const cluster::Group& on, std::uint32_t of, double sync_s)
      : group(on), attempt(of), parts(run_directory / "parts") {
    recover();
    cluster::run_together(group, [&] {
      writer = std::make_unique<LedgerWriter>(parts / ledger_name(attempt, group.rank()), attempt,
                                              sync_s);
    });
    own_file = static_cast<std::uint32_t>(files.size()) + static_cast<std::uint32_t>(group.rank());
    for (int rank = 0; rank < group.size(); ++rank)
      files.push_back(parts / ledger_name(attempt, rank));
    cluster::on_rank_0(group, [&] {
      sync_path(parts, "ledger");
      return std::string();
    });
  }

  /// Adds records to the index. Files are numbered by (attempt, rank): the lowest wins.
  void add(const std::vector<ChunkEntry>& found) {
    index.insert(index.end(), found.begin(), found.end());
    std::sort(index.begin(), index.end(), by_winner);
    index.erase(std::unique(index.begin(), index.end(), same_chunk), index.end());
  }

  std::pair<std::vector<ChunkEntry>::const_iterator, std::vector<ChunkEntry>::const_iterator>
  of_phase(std::uint32_t phase) const {
    const auto before = [](const ChunkEntry& entry, std::uint32_t p) { return entry.phase < p; };
    const auto behind = [](std::uint32_t p, const ChunkEntry& entry) { return p < entry.phase; };
    return {std::lower_bound(index.begin(), index.end(), phase, before),
            std::upper_bound(index.begin(), index.end(), phase, behind)};
  }

  const cluster::Group& group;
  std::uint32_t attempt;
  fs::path parts;
  std::vector<fs::path> files;
  std::vector<LedgerDamage> damage;
  std::vector<ChunkEntry> index;  // by (phase, chunk), one record each
  std::vector<ChunkEntry> fresh;  // own records since the last commit
  std::unique_ptr<LedgerWriter> writer;
  std::uint32_t own_file = 0;

private:
  void recover() {
    std::string names = cluster::on_rank_0(group, [&] { return list_ledgers(parts, attempt); });
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = names.find('\n', at);
      files.push_back(parts / names.substr(at, end - at));
      at = end + 1;
    }
    std::vector<ChunkEntry> found;
    std::vector<DamageEntry> damaged;
    cluster::run_together(group, [&] {
      const auto stride = static_cast<std::size_t>(group.size());
      for (auto k = static_cast<std::size_t>(group.rank()); k < files.size(); k += stride)
        scan(k, found, damaged);
    });
    add(cluster::all_gather_records(group, found));
    for (const DamageEntry& entry : cluster::all_gather_records(group, damaged)) {
      damage.push_back({files[entry.file].string(), entry.range.offset, entry.range.bytes});
    }
    std::sort(damage.begin(), damage.end(), [](const LedgerDamage& a, const LedgerDamage& b) {
      return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
    });
  }

  void scan(std::size_t k, std::vector<ChunkEntry>& found, std::vector<DamageEntry>& damaged) {
    const LedgerScan scan = scan_ledger(files[k], attempt_of(files[k].filename().string()).value());
    for (const Frame& frame : scan.frames) {
      found.push_back(
          {frame.phase, static_cast<std::uint32_t>(k), frame.chunk, frame.offset, frame.length});
    }
    for (const DamagedRange& range : scan.damage)
      damaged.push_back({k, range});
  }
};

ChunkJournal::ChunkJournal(std::filesystem::path run_directory, const cluster::Group& group,
                           std::uint32_t attempt, double sync_s)
    : state_(std::make_unique<State>(run_directory, group, attempt, sync_s)) {}

ChunkJournal::~ChunkJournal() = default;

std::vector<std::uint64_t> ChunkJournal::done(std::uint32_t phase) const {
  std::vector<std::uint64_t> ids;
  const auto [first, last] = state_->of_phase(phase);
  for (auto entry = first; entry != last; ++entry)
    ids.push_back(entry->chunk);
  return ids;
}

void ChunkJournal::append(std::uint32_t phase, std::uint64_t chunk,
                          std::span<const std::byte> payload) {
  const Frame frame = state_->writer->append(phase, chunk, payload);
  state_->fresh.push_back({phase, state_->own_file, chunk, frame.offset, frame.length});
}

void ChunkJournal::commit() {
  cluster::run_together(state_->group, [&] { state_->writer->close(); });
  // The agreement was a barrier behind the last close: peers may read from here on.
  state_->add(cluster::all_gather_records(state_->group, state_->fresh));
  state_->fresh.clear();
}

std::vector<ChunkEntry> ChunkJournal::entries(std::uint32_t phase) const {
  const auto [first, last] = state_->of_phase(phase);
  return {first, last};
}

const std::vector<std::filesystem::path>& ChunkJournal::files() const {
  return state_->files;
}

const std::vector<LedgerDamage>& ChunkJournal::damage() const {
  return state_->damage;
}

std::uint32_t ChunkJournal::attempt() const {
  return state_->attempt;
}

}  // namespace mgpu::store
