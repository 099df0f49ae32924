#pragma once

#include <mgpu/config/config.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/store/results/seal.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::run {

/// Where --merge or the run itself writes result files. The referenced objects must outlive this.
struct SealPlace {
  const Config& config;
  const store::StoreConfig& store;
  const store::RunDirectory& directory;
};

/// Returns the parts of a seal request that all jobs share: the path, and the facts about the run,
/// which did `part` of the work. The job adds its tables.
store::SealRequest seal_request(const SealPlace& place, const char* job,
                                const ChunkPart& part = {});

}  // namespace mgpu::run
