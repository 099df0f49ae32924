#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/base/phase_clock.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/cluster/topology.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

namespace mgpu::run {

/// Consecutive samples: the unit that is assigned to ranks, recorded in the journal and resumed.
struct Chunk {
  std::uint64_t index = 0;
  std::int64_t first = 0;  // global id of its first sample
  std::int64_t count = 0;
};

/// Part `index` of `count` contiguous parts of all chunks. If the parts cannot be equal, the first
/// parts have one chunk more.
struct ChunkPart {
  int index = 0;
  int count = 1;
};

/// One loop over the chunks of a data set.
struct ChunkPhase {
  std::string name;              // "histories", for messages
  std::uint32_t id = 0;          // number of the phase in the journal
  std::int64_t samples = 0;      // number of samples in the data set
  std::int64_t chunk_rows = 32;  // samples per chunk
  ChunkPart part{};              // the part that the loop covers
};

/// How chunks are assigned to groups of ranks. A group works on a block of chunks at once, so that
/// small chunks do not make small batches. The pending chunks are divided, in order, into blocks of
/// at most `at_once` chunks. All groups get equally many blocks, unless `is_dynamic` lets a fast
/// group claim more. On a CPU, the results of a chunk do not depend on the assignment.
struct ChunkSharing {
  bool is_dynamic = false;   // true: a free group claims the next block; false: each group gets
                             // a fixed share, see static_share()
  double timeout_s = 300.0;  // how long a group may wait for the answer to a claim
  std::int64_t at_once = 1;  // most chunks of a block
  /// True: all chunks are divided into blocks, not only the pending ones, and
  /// ChunkHooks::begin_block also gets the finished chunks of a block. Blocks without pending
  /// chunks are skipped. So a resumed run with the same number of groups has the same blocks as a
  /// new run. Blocks must be the same if a result depends on the other samples of its block, as on
  /// a GPU.
  bool repeats_blocks = false;
};

/// Callbacks of run_chunks().
struct ChunkHooks {
  /// Processes a chunk, and returns the bytes that the journal records. It must not communicate,
  /// except inside a model group whose ranks process the chunk together.
  std::function<std::vector<std::byte>(const Chunk&)> work;
  /// Returns whether the loop should end. If any rank gets true, the loop ends on all ranks. The
  /// overload of run_chunks() with a Topology calls this function before each block, and the
  /// overload with a Group before each chunk.
  std::function<bool()> stop_asked;
  /// Called after each chunk of this rank, with the number of samples of the chunk. The overload of
  /// run_chunks() with a Topology calls it only on the leader of each group.
  std::function<void(std::int64_t samples)> finished;
  /// Measures the time that recording chunks takes, as phase "journal"; nullptr: not measured.
  PhaseClock* clock = nullptr;
  /// Called with the chunks of a block, before `work` is called for the first of them. It may
  /// process the samples of all these chunks at once. nullptr: not called. Only the overload of
  /// run_chunks() with a Topology calls it.
  std::function<void(std::span<const Chunk> block)> begin_block{};
};

/// Returns the number of samples in `phase.part`.
std::int64_t samples_of_part(const ChunkPhase& phase);

/// Returns the global id of the first sample in `phase.part`.
std::int64_t first_of_part(const ChunkPhase& phase);

/// Returns the number of samples from the start of `phase.part` to the end of `chunk`. Groups claim
/// chunks in order, so this estimates how many samples all groups have done when one of them
/// finishes `chunk`.
std::int64_t samples_up_to(const ChunkPhase& phase, const Chunk& chunk);

/// Returns the chunks of `phase.part` whose index is not in `done`, in ascending order. `done` must
/// ascend, too.
std::vector<Chunk> pending_chunks(const ChunkPhase& phase, std::span<const std::uint64_t> done);

/// Returns how many samples group `group` of `groups` processes with a static schedule.
/// static_share() divides the chunks that are not in `done` among the groups. With `repeats_blocks`
/// (see ChunkSharing), it divides all chunks, but samples of chunks in `done` do not count.
std::int64_t static_samples(const ChunkPhase& phase, std::span<const std::uint64_t> done, int group,
                            int groups, bool repeats_blocks);

/// Divides `chunks` into `parts` contiguous shares, and returns share `part`, counted from 0. If
/// the shares cannot be equal, the first shares have one chunk more.
std::span<const Chunk> static_share(std::span<const Chunk> chunks, int part, int parts);

/// Divides `chunks` among the ranks of `group` with static_share(), and calls `work` for each chunk
/// of this rank. `work` must not communicate. After it throws or returns false on one rank, each
/// rank still finishes its current chunk, and then stops.
///
/// Ranks:  collective over `group`.
/// Errors: the failure of the lowest failing rank, on all ranks.
void share_out(std::span<const Chunk> chunks, const cluster::Group& group,
               const std::function<bool(const Chunk&)>& work);

/// Calls hooks.work for every chunk that the journal lacks, and commits the results to the journal.
/// Each rank processes alone the chunks that static_share() gives it, and hooks.work must not
/// communicate. Returns whether the phase is complete; false means that a stop was requested.
///
/// The results of a chunk never depend on the rank that computes them, so a run may resume with any
/// number of ranks.
///
/// Ranks:  collective over `group`.
/// Errors: the failure of the lowest failing rank, on all ranks, after each rank has finished its
///         current chunk. The journal keeps the chunks that were appended by then.
bool run_chunks(const ChunkPhase& phase, const cluster::Group& group, store::ChunkJournal& journal,
                const ChunkHooks& hooks);

/// Calls hooks.work for every chunk that the journal lacks, and commits the results to the journal.
/// All ranks of a model group process a chunk together, and hooks.work may communicate inside the
/// group. On one rank of the group hooks.work returns the bytes for the journal, on the other ranks
/// an empty vector. hooks.finished is called only on the leader of each group. Returns whether the
/// phase is complete; false means that a stop was requested.
///
/// With sharing.is_dynamic, the leader of each group claims its next block of chunks. Otherwise
/// static_share() decides which chunks each group gets.
///
/// Failpoint: chunk.work, before each chunk.
/// Ranks:  collective over the topology's world.
/// Errors: the failure of the lowest failing rank, on all ranks, after each other rank has finished
///         its current block. The journal keeps the chunks that were appended by then. E402 on one
///         rank when its claim is not answered in time.
bool run_chunks(const ChunkPhase& phase, const cluster::Topology& topology,
                store::ChunkJournal& journal, const ChunkHooks& hooks,
                const ChunkSharing& sharing = {});

}  // namespace mgpu::run
