#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <mgpu/report/notes.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/run_context.hpp>

// The functions of this header read and check the keys run.* about the seed and the chunks (Chunk).
// All jobs use these functions.
namespace mgpu::run {

/// The largest chunk, in samples, that run.chunk_size=auto can choose.
inline constexpr std::int64_t kLargestAutoChunk = 32;

/// Returns the chunk size that run.chunk_size=auto means for `rows` rows that give
/// `results_per_row` results each: max(1, min(32, ceil(rows / 64), ceil(32 / results_per_row))).
/// The chunk size does not depend on the number of ranks, so a run can resume with another number
/// of ranks.
std::int64_t auto_chunk_size(std::int64_t rows, std::int64_t results_per_row);

/// Returns whether run.chunk_size is `auto`.
bool has_auto_chunk_size(const Config& config);

/// The values of the keys run.* about the seed and the chunks.
struct JobKeys {
  std::uint64_t seed = 0;  // run.seed
  /// run.chunk_size, samples. For `auto` it is kLargestAutoChunk, until the program replaces `auto`
  /// by the number that JobSpec::auto_chunk_size returns.
  std::int64_t chunk_size = kLargestAutoChunk;
  bool is_dynamic = true;  // run.schedule: whether a free group of ranks claims the next chunks
  ChunkPart part{};        // the part of all chunks that this run processes: run.worker_id and
                           // run.total_workers, which --only sets

  bool is_part_of_run() const { return part.count > 1; }
};
JobKeys read_job_keys(const Config& config);

/// Checks that run.worker_id is below run.total_workers. Errors: Failure E124 (exit 78) if it is
/// not.
void check_chunk_keys(const Config& config);

/// Refuses run.schedule=dynamic and run.total_workers above 1. This function is for jobs that
/// always assign their chunks in advance, and whose work cannot be divided among several runs.
/// Errors: Failure E124 (exit 78) that names the key.
void refuse_chunk_keys(const Config& config);

/// Formats "part 0 of 4".
std::string part_text(const ChunkPart& part);

/// Formats "; part 0 of 4" for the banner's line about the data; "" if the run does the whole work.
std::string part_note(const JobKeys& keys);

/// If this run did only one part, logs how --merge joins the results of all parts.
void log_part(const RunContext& run, const JobKeys& keys);

/// Returns a note about groups of ranks that have no work: "2 of 4 ranks have nothing to do: there
/// are 2 chunks of up to 32 prompts". Its member `effect` suggests a smaller chunk size with which
/// a new run has work for all groups. If a smaller chunk size does not help, `effect` names a
/// smaller number of ranks with which the run takes no longer. Returns nullopt if there are at
/// least as many pending chunks as groups.
/// `pending`: number of chunks that are not done. `groups`: number of groups. `ranks`: number of
/// ranks in all groups. `rows`: name of the samples, such as "prompts".
std::optional<report::Note> idle_note(const ChunkPhase& phase, std::int64_t pending, int groups,
                                      int ranks, const std::string& rows);

/// Progress for the screen: the number of samples that are done, and the total number. With
/// run.schedule=static, both numbers cover only the group of this rank, and only the samples that
/// were not yet done when the program started. Otherwise both numbers cover all groups, and `done`
/// is an estimate; see samples_up_to().
struct ChunkProgress {
  std::int64_t done = 0;
  std::int64_t total = 0;
};

/// The samples of this rank's group since the program started. Used only with run.schedule=static.
struct AttemptSamples {
  std::int64_t done = 0;   // samples that the group has done
  std::int64_t total = 0;  // static_samples()
};

/// Returns the progress after chunk `last` of `phase`.
ChunkProgress progress_of(const JobKeys& keys, const ChunkPhase& phase, const Chunk& last,
                          const AttemptSamples& samples);

/// Returns the progress before chunk `next` of `phase`.
ChunkProgress progress_before(const JobKeys& keys, const ChunkPhase& phase, const Chunk& next,
                              const AttemptSamples& samples);

/// Returns a ChunkSharing with the settings run.schedule and comm.timeout_s. Its other members have
/// their defaults.
ChunkSharing chunk_sharing(const RunContext& run, const JobKeys& keys);

}  // namespace mgpu::run
