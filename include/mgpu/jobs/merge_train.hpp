#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/jobs/seal_place.hpp>
#include <mgpu/store/chunk_journal.hpp>

namespace mgpu::jobs {

/// One file or table of an unfinished run, as --merge found it.
struct MergedPart {
  std::string what;          // "histories", "training", "evaluation"
  std::int64_t present = 0;  //
  std::int64_t planned = 0;  //
  std::string unit;          // "histories", "steps", "episodes"
};

struct MergedRun {
  std::vector<MergedPart> parts;
  std::vector<std::string> warnings;  // damaged checkpoints that were skipped
};

/// Makes histories.h5, where there is none, and the result file of an unfinished run of job
/// train, of what its journal and its newest checkpoint hold. What is missing is left out, and
/// the root attribute `status` says so. The run stays as resumable as it was.
///
/// Ranks:  collective over `world`.
/// Errors: those of CheckpointStore, seal() and read_train_settings(), on all ranks.
MergedRun merge_train_job(const cluster::Group& world, const SealPlace& place,
                          const store::ChunkJournal& journal);

}  // namespace mgpu::jobs
