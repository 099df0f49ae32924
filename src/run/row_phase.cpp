#include <algorithm>
#include <string>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/row_phase.hpp>

namespace mgpu::run {
namespace {

lm::ModelGroup open_timed(const RunContext& run, const RowPhase::Keys& keys) {
  const auto loading = run.clock.enter("load");
  return open_model(run, keys.model, keys.folder);
}

}  // namespace

GroupSpeeds speeds_of(const std::vector<GroupWork>& groups, std::int64_t GroupWork::*unit) {
  GroupSpeeds speeds;
  double all = 0.0;
  double seconds = 0.0;
  for (const GroupWork& group : groups) {
    const auto mine = static_cast<double>(group.*unit);
    speeds.of_groups.push_back(group.seconds > 0.0 ? mine / group.seconds : 0.0);
    all += mine;
    seconds = std::max(seconds, group.seconds);
  }
  speeds.total = seconds > 0.0 ? all / seconds : 0.0;
  return speeds;
}

RowPhase::RowPhase(RunContext& run, const Keys& keys, Options options)
    : run_(run), keys_(keys), options_(std::move(options)), group_(open_timed(run, keys)) {}

std::int64_t RowPhase::choose_batch(lm::MemoryDemand demand, bool is_auto) {
  demand_ = std::move(demand);
  demand_.device = run_.device.kind;
  demand_.matrices = keys_.model.matrices;
  has_auto_batch_ = is_auto;
  if (is_auto) demand_.batch_size = automatic_batch();
  return demand_.batch_size;
}

std::int64_t RowPhase::automatic_batch() {
  const bool is_kept = run_.device.kind == DeviceKind::cuda;
  const cluster::Group& world = run_.topology.world();
  const std::string key = options_.names.key;
  const std::string kept = is_kept ? run_.directory.resolved(world, key) : "";
  if (!kept.empty()) return std::stoll(kept);
  const std::int64_t batch = agreed_batch(run_, keys_.model, group_, demand_, options_.names);
  if (is_kept) run_.directory.resolve(world, key, std::to_string(batch));
  return batch;
}

std::string RowPhase::memory_text(std::int64_t batch_size) const {
  return cluster::on_rank_0(run_.topology.world(), [&] {
    return at_once_text(batch_size, options_.names) + (has_auto_batch_ ? " (auto): " : ": ") +
           headroom_text(run_, group_, demand_);
  });
}

/// Returns how groups share the chunks. A block has at most as many chunks as are needed for
/// `batch_size` results.
ChunkSharing RowPhase::sharing(std::int64_t batch_size) const {
  const ChunkPhase& chunks = options_.chunks;
  ChunkSharing sharing = chunk_sharing(run_, keys_.run);
  const std::int64_t rows =
      rows_at_once({chunks.chunk_rows, chunks.samples, options_.results_per_row}, batch_size);
  sharing.at_once = (rows + chunks.chunk_rows - 1) / chunks.chunk_rows;
  sharing.repeats_blocks = run_.device.kind == DeviceKind::cuda;
  return sharing;
}

/// Returns the chunks of `block`. Merges consecutive chunks into one, so that their rows are
/// encoded and processed together. Merges no chunks if a rank died in an earlier attempt while it
/// worked on rows of the block.
std::vector<Chunk> RowPhase::joined(std::span<const Chunk> block) const {
  std::vector<Chunk> joined;
  for (const Chunk& chunk : block) {
    if (run_.quarantine.is_suspect({options_.chunks.id, chunk.first, chunk.count}))
      return {block.begin(), block.end()};
    if (!joined.empty() && joined.back().first + joined.back().count == chunk.first)
      joined.back().count += chunk.count;
    else
      joined.push_back(chunk);
  }
  return joined;
}

bool RowPhase::run_all(const BlockWork& work, std::int64_t batch_size) {
  look_for_idle_groups();
  const auto waiting = run_.clock.enter("waiting for ranks");
  const double begin_s = run_.clock.elapsed_s();
  const ChunkSharing sharing = this->sharing(batch_size);
  static_total_ = static_samples(options_.chunks, run_.journal.done(options_.chunks.id),
                                 run_.topology.group_index(), run_.topology.num_groups(),
                                 sharing.repeats_blocks);
  const auto finished = [&](std::int64_t rows) {
    work_.rows += rows;
    log_progress();
    work.write_scalars();
    log_chunk(run_, options_.chunks.name.c_str(), rows);
  };
  const bool is_complete =
      run_chunks(options_.chunks, run_.topology, run_.journal,
                 {work.pack, [&] { return run_.stop.poll() != StopReason::none; }, finished,
                  &run_.clock, work.begin},
                 sharing);
  seconds_ = run_.clock.elapsed_s() - begin_s;
  return is_complete;
}

/// Logs progress_of() after a chunk of this group. Only the group's leader calls it. The screen
/// shows what rank 0 logs.
void RowPhase::log_progress() {
  const ChunkProgress progress =
      progress_of(keys_.run, options_.chunks, last_, {work_.rows, static_total_});
  log_samples(progress.done * options_.results_per_row, progress.total * options_.results_per_row);
  run_.scalars.scalar("perf/tokens_per_second", work_.rows * options_.results_per_row,
                      static_cast<double>(work_.tokens()) / work_.seconds);
}

/// Logs the progress while RowWorker::work() runs, at most once per second. One call to work() may
/// process several chunks. `results`: how many results the current call has so far.
void RowPhase::log_within_work(std::int64_t results) {
  constexpr double kEvery_s = 1.0;
  if (!group_.is_leader() || run_.clock.elapsed_s() - logged_s_ < kEvery_s) return;
  const ChunkProgress before =
      progress_before(keys_.run, options_.chunks, last_, {work_.rows, static_total_});
  const std::int64_t samples = before.done * options_.results_per_row + results_before_ + results;
  const std::int64_t total = before.total * options_.results_per_row;
  if (samples < total) log_samples(samples, total);
}

void RowPhase::log_samples(std::int64_t samples, std::int64_t total) {
  logged_s_ = run_.clock.elapsed_s();
  Event event{"gen", {{"samples", samples}, {"total", total}}};
  if (work_.seconds > 0.0)
    event.fields.emplace_back("tokens_per_second",
                              static_cast<double>(work_.tokens()) / work_.seconds);
  run_.log.event(event);
}

/// Logs a note if there are fewer pending chunks than groups.
void RowPhase::look_for_idle_groups() {
  const auto pending = pending_chunks(options_.chunks, run_.journal.done(options_.chunks.id));
  if (pending.empty()) return;
  idle_note_ = idle_note(options_.chunks, std::ssize(pending), run_.topology.num_groups(),
                         run_.topology.world().size(), options_.rows);
  if (idle_note_) run_.log.event({"note", {{"text", idle_note_->sentence()}}});
}

std::vector<GroupWork> RowPhase::work_of_groups() const {
  std::vector<GroupWork> mine;
  if (group_.is_leader()) mine.push_back(work_);
  return cluster::all_gather_records(run_.topology.world(), mine);
}

JobOutcome RowPhase::outcome(ExitCode exit) const {
  JobOutcome outcome;
  outcome.exit = exit;
  outcome.unit = "samples";
  std::int64_t pending = 0;
  for (const Chunk& chunk : pending_chunks(options_.chunks, run_.journal.done(options_.chunks.id)))
    pending += chunk.count;
  outcome.total = samples_of_part(options_.chunks) * options_.results_per_row;
  outcome.done = outcome.total - pending * options_.results_per_row;
  outcome.samples_here = work_.rows * options_.results_per_row;
  if (idle_note_) outcome.notes.push_back(*idle_note_);
  return outcome;
}

}  // namespace mgpu::run
