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

/// Consecutive samples that are worked on together: the unit of batching, journal and resume.
struct Chunk {
  std::uint64_t index = 0;
  std::int64_t first = 0;  // global id of its first sample
  std::int64_t count = 0;
};

/// One of `count` contiguous parts of all chunks, the remainder in the first ones.
struct ChunkPart {
  int index = 0;
  int count = 1;
};

/// One loop over the chunks of a data set.
struct ChunkPhase {
  std::string name;          // "histories", for messages
  std::uint32_t id = 0;      // in the journal
  std::int64_t samples = 0;  // of the data set
  std::int64_t chunk_rows = 32;
  ChunkPart part{};  // which the loop is over
};

/// Who works on which chunk. What it holds is the same either way.
struct ChunkSharing {
  bool is_dynamic = false;   // a group that is free claims the next one; else see static_share()
  double timeout_s = 300.0;  // of a claim
};

/// What the loop asks its surroundings.
struct ChunkHooks {
  /// The journal payload of a chunk; may not communicate.
  std::function<std::vector<std::byte>(const Chunk&)> work;
  /// Looked at between chunks: true on any rank ends the loop on all.
  std::function<bool()> stop_asked;
  /// Called after each chunk of this rank with its number of samples.
  std::function<void(std::int64_t samples)> finished;
  /// Whose phase "journal" is what recording chunks takes.
  PhaseClock* clock = nullptr;
};

/// Samples in the chunks of the phase's part.
std::int64_t samples_of_part(const ChunkPhase& phase);

/// The global id of the part's first sample.
std::int64_t first_of_part(const ChunkPhase& phase);

/// Samples of the phase's part up to the end of the chunk: where chunks are claimed, about what all
/// groups have done when one has finished it.
std::int64_t samples_up_to(const ChunkPhase& phase, const Chunk& chunk);

/// The chunks of the phase's part that are not in `done` (ascending), ascending.
std::vector<Chunk> pending_chunks(const ChunkPhase& phase, std::span<const std::uint64_t> done);

/// The contiguous share of one of `parts`; the remainder goes to the first ones.
/// Source: guide 002, "data distribution".
std::span<const Chunk> static_share(std::span<const Chunk> chunks, int part, int parts);

/// Calls work() for each chunk of this rank's share; it may not communicate. Where it fails, or
/// returns false, all ranks stop at their next chunk.
///
/// Ranks:  collective over `group`.
/// Errors: the failure of the lowest failing rank on all ranks, one chunk later at most.
void share_out(std::span<const Chunk> chunks, const cluster::Group& group,
               const std::function<bool(const Chunk&)>& work);

/// Works on all chunks that the journal lacks, each rank on its share, and commits the journal.
/// Returns whether the phase is complete; false means that a stop was asked for.
///
/// What a chunk holds never depends on who worked on it, so any number of ranks may resume.
///
/// Ranks:  collective over `group`.
/// Errors: the failure of the lowest failing rank on all ranks, one chunk later at most; what
///         the journal had synced before stays.
bool run_chunks(const ChunkPhase& phase, const cluster::Group& group, store::ChunkJournal& journal,
                const ChunkHooks& hooks);

/// The same where the ranks of a model group work on a chunk together: each group has a share, or
/// its leader claims chunks for it, and `work` may communicate inside it. One of its ranks gives
/// the payload, the others nothing; `finished` is called on the leader.
///
/// Failpoint: chunk.work, before each chunk.
/// Ranks:  collective over the topology's world.
/// Errors: also E402 on one rank where a claim is not answered.
bool run_chunks(const ChunkPhase& phase, const cluster::Topology& topology,
                store::ChunkJournal& journal, const ChunkHooks& hooks,
                const ChunkSharing& sharing = {});

}  // namespace mgpu::run
