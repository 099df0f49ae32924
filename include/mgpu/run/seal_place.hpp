#pragma once

#include <mgpu/config/config.hpp>
#include <mgpu/store/results/seal.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::run {

/// Whose files are sealed, by the run itself or by --merge. The parts have to outlive it.
struct SealPlace {
  const Config& config;
  const store::StoreConfig& store;
  const store::RunDirectory& directory;
};

/// What the result file of any job begins with: where it goes, and which run it is of. Its tables
/// are the job's.
store::SealRequest seal_request(const SealPlace& place, const char* job);

}  // namespace mgpu::run
