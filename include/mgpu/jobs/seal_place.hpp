#pragma once

#include <mgpu/base/config.hpp>
#include <mgpu/store/run_directory.hpp>
#include <mgpu/store/store_config.hpp>

namespace mgpu::jobs {

/// Whose files are sealed, by the run itself or by --merge. The parts have to outlive it.
struct SealPlace {
  const Config& config;
  const store::StoreConfig& store;
  const store::RunDirectory& directory;
};

}  // namespace mgpu::jobs
