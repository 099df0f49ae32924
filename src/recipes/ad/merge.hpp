#pragma once

#include <mgpu/cluster/group.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

namespace mgpu::recipes {

/// Makes histories.h5, where there is none, and the result file of an unfinished run, of what its
/// journal and its newest checkpoint hold. What is missing is left out, and the root attribute
/// `status` says so. The run stays as resumable as it was.
///
/// Ranks:  collective over `world`.
/// Errors: those of CheckpointStore, seal() and read_ad_settings(), on all ranks.
run::MergedRun merge_ad_training(const cluster::Group& world, const run::SealPlace& place,
                                 const store::ChunkJournal& journal);

}  // namespace mgpu::recipes
