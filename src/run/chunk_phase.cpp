#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/failpoint.hpp>
#include <mgpu/cluster/abort_flag.hpp>
#include <mgpu/cluster/shared_counter.hpp>
#include <mgpu/run/chunk_phase.hpp>

#include "chunk_blocks.hpp"

namespace mgpu::run {
namespace {

/// Writes the current chunk of this rank to Activity::position, which the watchdog reports.
void show(const ChunkPhase& phase, const Chunk& chunk) {
  activity().position.set(phase.name + ", chunk " + std::to_string(chunk.index) + ", samples " +
                          std::to_string(chunk.first) + "-" +
                          std::to_string(chunk.first + chunk.count - 1));
  mark_progress();
}

constexpr std::int64_t kNoBlock = -1;

/// Returns the index of the first item of part `p`, if `count` items are divided into `parts`
/// parts. If the parts cannot be equal, the first parts have one item more.
std::int64_t begin_of_part(std::int64_t count, int p, int parts) {
  const std::int64_t share = count / parts;
  const std::int64_t extra = count % parts;
  return p * share + std::min<std::int64_t>(p, extra);
}

std::int64_t num_chunks(const ChunkPhase& phase) {
  return (phase.samples + phase.chunk_rows - 1) / phase.chunk_rows;
}

/// Returns the half-open range of the chunks in the phase's part.
std::pair<std::int64_t, std::int64_t> range_of_part(const ChunkPhase& phase) {
  const std::int64_t chunks = num_chunks(phase);
  return {begin_of_part(chunks, phase.part.index, phase.part.count),
          begin_of_part(chunks, phase.part.index + 1, phase.part.count)};
}

/// A function that returns the index of the next block of this group. GroupLoop ends when the
/// function returns kNoBlock or an index past the last block. Only rank 0 of each group calls it.
using NextBlock = std::function<std::int64_t()>;

NextBlock one_by_one(std::int64_t first, std::int64_t end) {
  return [first, end]() mutable { return first < end ? first++ : kNoBlock; };
}

/// Enters the phase `journal` of the clock. This phase measures the time for recording results.
PhaseClock::Scope enter_journal(const ChunkHooks& hooks) {
  return PhaseClock::enter(hooks.clock, "journal");
}

/// The loop of a group over its blocks of chunks. All ranks of the group leave the loop together,
/// even if only one of them must leave.
class GroupLoop {
public:
  /// `done`: the indices of the chunks that earlier attempts have finished, ascending.
  GroupLoop(const ChunkPhase& phase, const cluster::Group& group, cluster::AbortFlag& abort_flag,
            store::ChunkJournal& journal, std::span<const std::uint64_t> done,
            const ChunkHooks& hooks)
      : phase_(phase),
        group_(group),
        abort_flag_(abort_flag),
        journal_(journal),
        hooks_(hooks),
        done_(done) {}

  void run(std::span<const ChunkBlock> blocks, const NextBlock& next) {
    for (;;) {
      const std::int64_t block = common_block(std::ssize(blocks), next);
      if (block == kNoBlock) break;
      failure_ = cluster::failure_of([&] { work_on(blocks[static_cast<std::size_t>(block)]); });
    }
    if (!failure_) return;
    abort_flag_.raise();
    std::rethrow_exception(failure_);
  }

private:
  /// Returns the index of the leader's next block, on all ranks of the group. Returns kNoBlock if
  /// no block is left, or if any rank of the world must leave its loop.
  std::int64_t common_block(std::int64_t count, const NextBlock& next) {
    if (failure_ || hooks_.stop_asked()) abort_flag_.raise();
    const bool ends = abort_flag_.is_raised();
    const std::int64_t mine = group_.rank() == 0 && !ends ? next() : kNoBlock;
    std::array<std::int64_t, 2> largest{ends ? 1 : 0, mine};
    group_.all_reduce(std::span<std::int64_t>(largest), cluster::ReduceOp::max);
    return largest[0] == 0 && largest[1] < count ? largest[1] : kNoBlock;
  }

  void work_on(ChunkBlock block) {
    std::vector<Chunk> pending;
    std::ranges::copy_if(block, std::back_inserter(pending),
                         [this](const Chunk& chunk) { return !is_done(chunk); });
    for (const Chunk& chunk : pending) {
      show(phase_, chunk);
      failpoint("chunk.work");
      const bool begins = chunk.index == pending.front().index;
      if (begins && hooks_.begin_block) hooks_.begin_block(block);
      work_on(chunk);
    }
  }

  bool is_done(const Chunk& chunk) const { return std::ranges::binary_search(done_, chunk.index); }

  void work_on(const Chunk& chunk) {
    const std::vector<std::byte> payload = hooks_.work(chunk);
    if (!payload.empty()) {
      const auto recording = enter_journal(hooks_);
      journal_.append(phase_.id, chunk.index, payload);
    }
    if (group_.rank() == 0) hooks_.finished(chunk.count);
  }

  const ChunkPhase& phase_;
  const cluster::Group& group_;
  cluster::AbortFlag& abort_flag_;
  store::ChunkJournal& journal_;
  const ChunkHooks& hooks_;
  std::span<const std::uint64_t> done_;
  std::exception_ptr failure_;
};

}  // namespace

std::int64_t samples_of_part(const ChunkPhase& phase) {
  const std::int64_t end = range_of_part(phase).second;
  return std::min(end * phase.chunk_rows, phase.samples) - first_of_part(phase);
}

std::int64_t first_of_part(const ChunkPhase& phase) {
  return std::min(range_of_part(phase).first * phase.chunk_rows, phase.samples);
}

std::int64_t samples_up_to(const ChunkPhase& phase, const Chunk& chunk) {
  return chunk.first + chunk.count - range_of_part(phase).first * phase.chunk_rows;
}

std::vector<Chunk> pending_chunks(const ChunkPhase& phase, std::span<const std::uint64_t> done) {
  std::vector<Chunk> pending;
  const auto [begin, end] = range_of_part(phase);
  for (std::int64_t c = begin; c < end; ++c) {
    const auto index = static_cast<std::uint64_t>(c);
    if (std::binary_search(done.begin(), done.end(), index)) continue;
    const std::int64_t first = c * phase.chunk_rows;
    pending.push_back({index, first, std::min(phase.chunk_rows, phase.samples - first)});
  }
  return pending;
}

std::int64_t static_samples(const ChunkPhase& phase, std::span<const std::uint64_t> done, int group,
                            int groups, bool repeats_blocks) {
  const std::vector<Chunk> chunks =
      repeats_blocks ? pending_chunks(phase, {}) : pending_chunks(phase, done);
  std::int64_t samples = 0;
  for (const Chunk& chunk : static_share(chunks, group, groups))
    if (!std::ranges::binary_search(done, chunk.index)) samples += chunk.count;
  return samples;
}

std::span<const Chunk> static_share(std::span<const Chunk> chunks, int part, int parts) {
  const std::int64_t first = begin_of_part(std::ssize(chunks), part, parts);
  const std::int64_t end = begin_of_part(std::ssize(chunks), part + 1, parts);
  return chunks.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
}

void share_out(std::span<const Chunk> chunks, const cluster::Group& group,
               const std::function<bool(const Chunk&)>& work) {
  cluster::AbortFlag abort_flag(group);
  cluster::run_together(group, [&] {
    try {
      for (const Chunk& chunk : static_share(chunks, group.rank(), group.size())) {
        if (abort_flag.is_raised()) return;
        if (!work(chunk)) return abort_flag.raise();
      }
    } catch (...) {
      abort_flag.raise();
      throw;
    }
  });
}

bool run_chunks(const ChunkPhase& phase, const cluster::Group& group, store::ChunkJournal& journal,
                const ChunkHooks& hooks) {
  share_out(pending_chunks(phase, journal.done(phase.id)), group, [&](const Chunk& chunk) {
    if (hooks.stop_asked()) return false;
    show(phase, chunk);
    const std::vector<std::byte> payload = hooks.work(chunk);
    {
      const auto recording = enter_journal(hooks);
      journal.append(phase.id, chunk.index, payload);
    }
    hooks.finished(chunk.count);
    return true;
  });
  const auto recording = enter_journal(hooks);
  journal.commit();
  return pending_chunks(phase, journal.done(phase.id)).empty();
}

bool run_chunks(const ChunkPhase& phase, const cluster::Topology& topology,
                store::ChunkJournal& journal, const ChunkHooks& hooks,
                const ChunkSharing& sharing) {
  const std::vector<std::uint64_t> done = journal.done(phase.id);
  const std::vector<Chunk> chunks =
      sharing.repeats_blocks ? pending_chunks(phase, {}) : pending_chunks(phase, done);
  const int groups = topology.num_groups();
  const std::vector<ChunkBlock> blocks = blocks_of(chunks, groups, sharing.at_once);
  const std::int64_t rounds = std::ssize(blocks) / groups;
  std::optional<cluster::SharedCounter> counter;
  NextBlock next =
      one_by_one(topology.group_index() * rounds, (topology.group_index() + 1) * rounds);
  if (sharing.is_dynamic && groups > 1) {
    counter.emplace(topology.world(), sharing.timeout_s);
    next = [&] { return counter->take(); };
  }
  cluster::AbortFlag abort_flag(topology.world());
  cluster::run_together(topology.world(), [&] {
    GroupLoop(phase, topology.model_group(), abort_flag, journal, done, hooks).run(blocks, next);
  });
  const auto recording = enter_journal(hooks);
  journal.commit();
  return pending_chunks(phase, journal.done(phase.id)).empty();
}

}  // namespace mgpu::run
