#pragma once

#include <mgpu/cluster/group.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

namespace mgpu::recipes {

/// Makes the result file of an unfinished run, and histories.h5 if it does not exist, from the
/// journal and the newest checkpoint. Missing parts are left out, and the root attribute `status`
/// says so. The run can still be resumed.
///
/// Ranks:  collective over `world`.
/// Errors: those of CheckpointStore, seal() and read_ad_settings(), on all ranks.
run::MergedRun merge_ad_training(const cluster::Group& world, const run::SealPlace& place,
                                 const store::ChunkJournal& journal);

}  // namespace mgpu::recipes
