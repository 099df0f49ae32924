#pragma once

#include <cstdint>
#include <string>

#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/run_context.hpp>

// The keys run.schedule, run.worker_id and run.total_workers: which ranks process which chunks.
namespace mgpu::run {

/// Errors: Failure E124 (exit 78) when run.worker_id names a part that does not exist.
void check_chunk_keys(const Config& config);

/// The check for a job that always assigns its chunks in advance and cannot run in parts.
/// Errors: Failure E124 (exit 78) that names the key.
void refuse_chunk_keys(const Config& config);

/// The part of the chunks that this run does; all chunks unless the keys name a part.
ChunkPart read_chunk_part(const Config& config);
bool is_part_of_run(const Config& config);

/// "part 0 of 4".
std::string part_text(const ChunkPart& part);

/// "; part 0 of 4" for the line about a run's data; "" when the run does everything.
std::string part_note(const Config& config);

/// Tells how parts are joined, if this run did one part.
void tell_part(const RunContext& run);

/// Progress for the screen: samples done and samples to do. They cover all groups when chunks are
/// claimed, otherwise one group with its equal share.
struct ChunkProgress {
  std::int64_t done = 0;
  std::int64_t total = 0;
};
ChunkProgress progress_of(const RunContext& run, const ChunkPhase& phase, const Chunk& last,
                          std::int64_t done_here);

ChunkSharing read_chunk_sharing(const RunContext& run);

}  // namespace mgpu::run
