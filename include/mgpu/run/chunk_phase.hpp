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

/// Consecutive samples that are processed together: the unit of batching, journal and resume.
struct Chunk {
  std::uint64_t index = 0;
  std::int64_t first = 0;  // global id of its first sample
  std::int64_t count = 0;
};

/// Selects one of `count` contiguous parts of all chunks. The first parts take the remainder.
struct ChunkPart {
  int index = 0;
  int count = 1;
};

/// One loop over the chunks of a data set.
struct ChunkPhase {
  std::string name;          // "histories", for messages
  std::uint32_t id = 0;      // number in the journal
  std::int64_t samples = 0;  // in the data set
  std::int64_t chunk_rows = 32;
  ChunkPart part{};  // the part that the loop covers
};

/// How chunks are assigned to ranks. The contents of a chunk do not depend on the assignment.
struct ChunkSharing {
  bool is_dynamic = false;   // idle groups claim the next chunk; else see static_share()
  double timeout_s = 300.0;  // limit of the wait for a claim
};

/// Callbacks of the loop.
struct ChunkHooks {
  /// Returns the journal payload of a chunk; must not communicate.
  std::function<std::vector<std::byte>(const Chunk&)> work;
  /// Called between chunks. If it returns true on any rank, the loop ends on all ranks.
  std::function<bool()> stop_asked;
  /// Called after each chunk of this rank with its number of samples.
  std::function<void(std::int64_t samples)> finished;
  /// Clock whose phase "journal" counts the time that recording chunks takes.
  PhaseClock* clock = nullptr;
};

/// Returns the number of samples in the phase's part.
std::int64_t samples_of_part(const ChunkPhase& phase);

/// Returns the global id of the part's first sample.
std::int64_t first_of_part(const ChunkPhase& phase);

/// Returns the number of samples of the phase's part up to the end of `chunk`. When chunks are
/// claimed, this estimates how many samples all groups have done when one of them finishes `chunk`.
std::int64_t samples_up_to(const ChunkPhase& phase, const Chunk& chunk);

/// Returns the chunks of the phase's part that are not in `done`. Both lists ascend.
std::vector<Chunk> pending_chunks(const ChunkPhase& phase, std::span<const std::uint64_t> done);

/// Divides the chunks into `parts` contiguous shares, and returns share number `part`. The first
/// shares take the remainder.
std::span<const Chunk> static_share(std::span<const Chunk> chunks, int part, int parts);

/// Calls work() for each chunk of this rank's share; work() must not communicate. When work() fails
/// or returns false, all ranks stop at their next chunk.
///
/// Ranks:  collective over `group`.
/// Errors: the failure of the lowest failing rank on all ranks, one chunk later at most.
void share_out(std::span<const Chunk> chunks, const cluster::Group& group,
               const std::function<bool(const Chunk&)>& work);

/// Processes all chunks that the journal lacks, each rank its share, and commits the journal.
/// Returns whether the phase is complete; false means that a stop was requested.
///
/// The contents of a chunk never depend on the rank that computed it, so any number of ranks may
/// resume.
///
/// Ranks:  collective over `group`.
/// Errors: the failure of the lowest failing rank on all ranks, one chunk later at most; chunks
///         that the journal has synced by then are kept.
bool run_chunks(const ChunkPhase& phase, const cluster::Group& group, store::ChunkJournal& journal,
                const ChunkHooks& hooks);

/// Does the same, but all ranks of a model group process a chunk together. Each group has a share,
/// or its leader claims chunks for the group. `work` may communicate inside the group. One rank of
/// the group returns the payload, and the others return nothing. `finished` is called on the
/// leader.
///
/// Failpoint: chunk.work, before each chunk.
/// Ranks:  collective over the topology's world.
/// Errors: those of the other run_chunks(); E402 on one rank when a claim is not answered.
bool run_chunks(const ChunkPhase& phase, const cluster::Topology& topology,
                store::ChunkJournal& journal, const ChunkHooks& hooks,
                const ChunkSharing& sharing = {});

}  // namespace mgpu::run
