#pragma once

#include <mgpu/config/config.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/store/results/seal.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::run {

/// Identifies the run whose result file is written (sealed) by the run itself or by --merge. The
/// objects to which the members refer must outlive this one.
struct SealPlace {
  const Config& config;
  const store::StoreConfig& store;
  const store::RunDirectory& directory;
};

/// Returns a request to write a result file, with the path and the facts about the run. The job
/// adds its tables. `part`: the part of all chunks that the run processed.
store::SealRequest seal_request(const SealPlace& place, const char* job,
                                const ChunkPart& part = {});

}  // namespace mgpu::run
