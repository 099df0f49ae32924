#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <mgpu/base/soft_stop.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>
#include <mgpu/store/run_dir/store_config.hpp>
#include <mgpu/watch/watch_config.hpp>

namespace mgpu::app {

/// The settings of the run itself, as opposed to those of its job.
struct RunKeys {
  cluster::ClusterConfig cluster;
  store::StoreConfig store;
  watch::WatchConfig watch;
  bool retries_quarantined = false;  // run.retry_quarantined
};

/// Number of ranks, computed from the settings of devices.
using RanksOf = std::function<int(const cluster::ClusterConfig& cluster)>;

/// Reads the settings of the run, and checks the rules of the job for this many ranks. Local.
/// Errors: those of the readers and of the job's check, all of them at once.
RunKeys read_run_keys(const Config& config, const RanksOf& ranks);

/// Parses the keys of the job on every rank, and checks on rank 0 the files that it needs. The
/// configuration must outlive the job. Ranks: collective over `world`.
std::unique_ptr<jobs::Job> read_checked_job(const cluster::Group& world, const Config& config);

/// Returns the identity of a run, from its configuration and its part. A run can be resumed only
/// with the same identity.
std::string run_identity(const Config& config, const run::JobKeys& keys);

/// Returns the request for the run directory.
///
/// Ranks:  collective over `world`.
store::RunRequest run_request(const cluster::Group& world, const Config& config,
                              const jobs::Job& job, const RunKeys& keys,
                              const std::vector<std::string>& command);

/// Returns the options of SoftStop. Only the first rank looks for the file STOP. All ranks watch
/// the time limit, of which `elapsed_s` have passed.
SoftStop::Options stop_options(const Config& config, const cluster::Group& world,
                               const store::RunDirectory& directory, double elapsed_s);

}  // namespace mgpu::app
