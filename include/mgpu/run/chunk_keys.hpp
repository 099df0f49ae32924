#pragma once

#include <cstdint>
#include <string>

#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/run_context.hpp>

// The keys run.*: seed and chunks of every job.
namespace mgpu::run {

/// The values of those keys run.* that jobs read.
struct JobKeys {
  std::uint64_t seed = 0;        // run.seed
  std::int64_t chunk_size = 32;  // run.chunk_size, samples
  bool is_dynamic = true;        // run.schedule: whether a free group claims the next chunk
  ChunkPart part{};              // part run.worker_id of run.total_workers; --only sets both keys

  bool is_part_of_run() const { return part.count > 1; }
};
JobKeys read_job_keys(const Config& config);

/// Checks that run.worker_id is below run.total_workers. Errors: Failure E124 (exit 78) if it is
/// not.
void check_chunk_keys(const Config& config);

/// Refuses run.schedule=dynamic and run.total_workers above 1, for a job that always assigns its
/// chunks in advance and cannot run in parts.
/// Errors: Failure E124 (exit 78) that names the key.
void refuse_chunk_keys(const Config& config);

/// Formats "part 0 of 4".
std::string part_text(const ChunkPart& part);

/// Formats "; part 0 of 4" for the line of the banner about the data; "" if the run does all parts.
std::string part_note(const JobKeys& keys);

/// If this run did only one part, logs how --merge joins the results of all parts.
void log_part(const RunContext& run, const JobKeys& keys);

/// Progress for the screen: samples done, and all samples to do. With run.schedule=static both
/// numbers are those of one group, and all groups are assumed to have equally many samples.
/// Otherwise they are those of all groups together.
struct ChunkProgress {
  std::int64_t done = 0;
  std::int64_t total = 0;
};
/// Returns the progress after chunk `last` of `phase`. `done_here`: how many samples this group has
/// done.
ChunkProgress progress_of(const RunContext& run, const JobKeys& keys, const ChunkPhase& phase,
                          const Chunk& last, std::int64_t done_here);

/// Returns how run.schedule assigns chunks to groups.
ChunkSharing chunk_sharing(const RunContext& run, const JobKeys& keys);

}  // namespace mgpu::run
