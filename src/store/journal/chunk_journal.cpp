#include <algorithm>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

#include "ledger_file.hpp"
#include "ledger_index.hpp"

namespace mgpu::store {
namespace {

void make_folder_of_ledgers(const fs::path& parts) {
  std::error_code error;
  fs::create_directories(parts, error);
  if (!error) return;
  throw Failure({"E601",
                 ExitCode::cannot_create,
                 "cannot create the folder of the ledgers: " + error.message(),
                 {"  --> " + parts.string()},
                 "choose another folder: --output DIR"});
}

}  // namespace

class ChunkJournal::State {
public:
  State(const fs::path& run_directory, const cluster::Group& on, std::uint32_t of, double sync_s)
      : group(on), attempt(of), parts(run_directory / "parts") {
    cluster::run_together(group, [&] {
      if (group.rank() == 0) make_folder_of_ledgers(parts);
    });
    index = read_ledgers(group, parts, attempt);
    cluster::run_together(group, [&] {
      writer = std::make_unique<LedgerWriter>(parts / ledger_name(attempt, group.rank()), attempt,
                                              sync_s);
    });
    own_file =
        static_cast<std::uint32_t>(index.files.size()) + static_cast<std::uint32_t>(group.rank());
    for (int rank = 0; rank < group.size(); ++rank)
      index.files.push_back(parts / ledger_name(attempt, rank));
    cluster::on_rank_0(group, [&] { sync_path(parts, "ledger"); });
  }

  std::pair<std::vector<ChunkEntry>::const_iterator, std::vector<ChunkEntry>::const_iterator>
  of_phase(std::uint32_t phase) const {
    const auto before = [](const ChunkEntry& entry, std::uint32_t p) { return entry.phase < p; };
    const auto after = [](std::uint32_t p, const ChunkEntry& entry) { return p < entry.phase; };
    return {std::lower_bound(index.entries.begin(), index.entries.end(), phase, before),
            std::upper_bound(index.entries.begin(), index.entries.end(), phase, after)};
  }

  const cluster::Group& group;
  std::uint32_t attempt;
  fs::path parts;
  LedgerIndex index;
  std::vector<ChunkEntry> fresh;  // this rank's records since the last commit
  std::unique_ptr<LedgerWriter> writer;
  std::uint32_t own_file = 0;
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
  // When run_together() returns, all ranks have closed their ledgers, so all ranks may read them.
  state_->index.add(cluster::all_gather_records(state_->group, state_->fresh));
  state_->fresh.clear();
}

std::vector<ChunkEntry> ChunkJournal::entries(std::uint32_t phase) const {
  const auto [first, last] = state_->of_phase(phase);
  return {first, last};
}

std::vector<ChunkWork> ChunkJournal::work() const {
  std::vector<ChunkWork> work;
  for (const ChunkEntry& entry : state_->index.entries) {
    const LedgerWriterId writer = writer_of(state_->index.files[entry.file].filename().string());
    work.push_back({entry.phase, entry.chunk, writer.attempt, writer.rank});
  }
  return work;
}

const std::vector<std::filesystem::path>& ChunkJournal::files() const {
  return state_->index.files;
}

const std::vector<LedgerDamage>& ChunkJournal::damage() const {
  return state_->index.damage;
}

std::uint32_t ChunkJournal::attempt() const {
  return state_->attempt;
}

}  // namespace mgpu::store
