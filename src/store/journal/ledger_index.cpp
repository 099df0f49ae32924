#include "ledger_index.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <tuple>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>

#include "store/file_numbers.hpp"

namespace mgpu::store {
namespace {

/// Returns the attempt and the rank in the file name of a ledger; nullopt for any other name.
std::optional<std::vector<std::uint32_t>> numbers_of(const std::string& name) {
  return numbers_in(name, "attempt_#.rank_#.ledger");
}

/// Returns the attempt number in the file name of a ledger; nullopt for any other name.
std::optional<std::uint32_t> attempt_of(const std::string& name) {
  const auto numbers = numbers_of(name);
  if (!numbers) return std::nullopt;
  return numbers->front();
}

/// Returns the names of the ledgers in the order of (attempt, rank), one per line. If `attempt`
/// is given, returns only the ledgers of attempts before `attempt`.
std::string list_ledgers(const fs::path& parts, std::optional<std::uint32_t> attempt) {
  std::vector<std::pair<std::vector<std::uint32_t>, std::string>> names;  // {attempt, rank}, name
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(parts, missing)) {
    const std::string name = entry.path().filename().string();
    const auto numbers = numbers_of(name);
    if (numbers && (!attempt || numbers->front() < *attempt)) names.emplace_back(*numbers, name);
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const auto& [numbers, name] : names)
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

/// Returns the records of `sorted` that are neither empty nor voided. A record with an empty
/// payload voids all earlier records of its chunk.
std::vector<ChunkEntry> without_voided(const std::vector<ChunkEntry>& sorted) {
  std::vector<ChunkEntry> kept;
  for (const ChunkEntry& entry : sorted) {
    if (entry.length > 0) {
      kept.push_back(entry);
      continue;
    }
    while (!kept.empty() && same_chunk(kept.back(), entry))
      kept.pop_back();
  }
  return kept;
}

void scan(const fs::path& path, std::size_t number, std::vector<ChunkEntry>& found,
          std::vector<DamageEntry>& damaged) {
  const LedgerScan scan = scan_ledger(path, attempt_of(path.filename().string()).value());
  for (const Frame& frame : scan.frames) {
    found.push_back(
        {frame.phase, static_cast<std::uint32_t>(number), frame.chunk, frame.offset, frame.length});
  }
  for (const DamagedRange& range : scan.damage)
    damaged.push_back({number, range});
}

}  // namespace

std::string ledger_name(std::uint32_t attempt, int rank) {
  char name[64];
  std::snprintf(name, sizeof name, "attempt_%04u.rank_%04d.ledger", attempt, rank);
  return name;
}

LedgerWriterId writer_of(const std::string& name) {
  const auto numbers = numbers_of(name);
  if (!numbers) throw Error("no name of a ledger: " + name);
  return {numbers->at(0), static_cast<int>(numbers->at(1))};
}

void LedgerIndex::add(const std::vector<ChunkEntry>& found) {
  entries.insert(entries.end(), found.begin(), found.end());
  std::sort(entries.begin(), entries.end(), by_winner);
  entries = without_voided(entries);
  entries.erase(std::unique(entries.begin(), entries.end(), same_chunk), entries.end());
}

LedgerIndex read_ledgers(const cluster::Group& group, const fs::path& parts,
                         std::optional<std::uint32_t> attempt) {
  LedgerIndex index;
  const std::string names = cluster::on_rank_0(group, [&] { return list_ledgers(parts, attempt); });
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = names.find('\n', at);
    index.files.push_back(parts / names.substr(at, end - at));
    at = end + 1;
  }
  std::vector<ChunkEntry> found;
  std::vector<DamageEntry> damaged;
  cluster::run_together(group, [&] {
    const auto stride = static_cast<std::size_t>(group.size());
    for (auto k = static_cast<std::size_t>(group.rank()); k < index.files.size(); k += stride)
      scan(index.files[k], k, found, damaged);
  });
  index.add(cluster::all_gather_records(group, found));
  for (const DamageEntry& entry : cluster::all_gather_records(group, damaged)) {
    index.damage.push_back(
        {index.files[entry.file].string(), entry.range.offset, entry.range.bytes});
  }
  std::sort(index.damage.begin(), index.damage.end(),
            [](const LedgerDamage& a, const LedgerDamage& b) {
              return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
            });
  return index;
}

}  // namespace mgpu::store
