#include <algorithm>
#include <exception>

#include <mgpu/base/activity.hpp>
#include <mgpu/cluster/alarm.hpp>
#include <mgpu/schedule/chunk_phase.hpp>

namespace mgpu::schedule {
namespace {

/// For those who watch this rank.
void show(const ChunkPhase& phase, const Chunk& chunk) {
  activity().position.set(phase.name + ", chunk " + std::to_string(chunk.index) + ", samples " +
                          std::to_string(chunk.first) + "-" +
                          std::to_string(chunk.first + chunk.count - 1));
  mark_progress();
}

/// A group's share. Its ranks leave the loop together, whoever of them has to.
void work_in_group(std::span<const Chunk> share, const ChunkPhase& phase,
                   const cluster::Group& group, cluster::Alarm& alarm, store::ChunkJournal& journal,
                   const ChunkHooks& hooks) {
  std::exception_ptr failure;
  for (const Chunk& chunk : share) {
    if (failure || hooks.stop_asked()) alarm.ring();
    if (group.all_reduce(alarm.rang() ? 1 : 0, cluster::ReduceOp::max) != 0) break;
    show(phase, chunk);
    try {
      const std::vector<std::byte> payload = hooks.work(chunk);
      if (!payload.empty()) journal.append(phase.id, chunk.index, payload);
      if (group.rank() == 0) hooks.finished(chunk.count);
    } catch (const cluster::LoneFailure&) {
      throw;  // the group does not meet any more
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (!failure) return;
  alarm.ring();
  std::rethrow_exception(failure);
}

}  // namespace

std::vector<Chunk> pending_chunks(const ChunkPhase& phase, std::span<const std::uint64_t> done) {
  std::vector<Chunk> pending;
  const std::int64_t chunks = (phase.samples + phase.chunk_rows - 1) / phase.chunk_rows;
  for (std::int64_t c = 0; c < chunks; ++c) {
    const auto index = static_cast<std::uint64_t>(c);
    if (std::binary_search(done.begin(), done.end(), index)) continue;
    const std::int64_t first = c * phase.chunk_rows;
    pending.push_back({index, first, std::min(phase.chunk_rows, phase.samples - first)});
  }
  return pending;
}

std::span<const Chunk> static_share(std::span<const Chunk> chunks, int part, int parts) {
  const std::size_t share = chunks.size() / static_cast<std::size_t>(parts);
  const std::size_t extra = chunks.size() % static_cast<std::size_t>(parts);
  const auto p = static_cast<std::size_t>(part);
  return chunks.subspan(p * share + std::min(p, extra), share + (p < extra ? 1 : 0));
}

void share_out(std::span<const Chunk> chunks, const cluster::Group& group,
               const std::function<bool(const Chunk&)>& work) {
  cluster::Alarm alarm(group);
  cluster::run_together(group, [&] {
    try {
      for (const Chunk& chunk : static_share(chunks, group.rank(), group.size())) {
        if (alarm.rang()) return;
        if (!work(chunk)) return alarm.ring();
      }
    } catch (...) {
      alarm.ring();
      throw;
    }
  });
}

bool run_chunks(const ChunkPhase& phase, const cluster::Group& group, store::ChunkJournal& journal,
                const ChunkHooks& hooks) {
  share_out(pending_chunks(phase, journal.done(phase.id)), group, [&](const Chunk& chunk) {
    if (hooks.stop_asked()) return false;
    show(phase, chunk);
    journal.append(phase.id, chunk.index, hooks.work(chunk));
    hooks.finished(chunk.count);
    return true;
  });
  journal.commit();
  return pending_chunks(phase, journal.done(phase.id)).empty();
}

bool run_chunks(const ChunkPhase& phase, const cluster::Topology& topology,
                store::ChunkJournal& journal, const ChunkHooks& hooks) {
  const std::vector<Chunk> pending = pending_chunks(phase, journal.done(phase.id));
  const auto share = static_share(pending, topology.group_index(), topology.num_groups());
  cluster::Alarm alarm(topology.world());
  cluster::run_together(topology.world(), [&] {
    work_in_group(share, phase, topology.model_group(), alarm, journal, hooks);
  });
  journal.commit();
  return pending_chunks(phase, journal.done(phase.id)).empty();
}

}  // namespace mgpu::schedule
