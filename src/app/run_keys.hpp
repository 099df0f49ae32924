#pragma once

#include <string>
#include <vector>

#include <mgpu/base/config.hpp>
#include <mgpu/base/soft_stop.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/store/run_directory.hpp>
#include <mgpu/store/store_config.hpp>

namespace mgpu::app {

/// What the configuration says about the run itself, read once and checked on all ranks.
struct RunKeys {
  cluster::ClusterConfig cluster;
  store::StoreConfig store;
};

/// Also applies the rules of the job, and looks at the files that it needs.
///
/// Ranks:  collective over `world`.
/// Errors: those of the readers and of the job's checks, all of them at once.
RunKeys read_run_keys(const cluster::Group& world, const Config& config);

/// What the run directory is asked for.
///
/// Ranks:  collective over `world`.
store::RunRequest run_request(const cluster::Group& world, const Config& config,
                              const store::StoreConfig& store,
                              const std::vector<std::string>& command);

/// The first rank looks for the file STOP; all know the time limit, of which `elapsed_s` is over.
SoftStop::Options stop_options(const Config& config, const cluster::Group& world,
                               const store::RunDirectory& directory, double elapsed_s);

}  // namespace mgpu::app
