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

/// The settings of a run that do not depend on its job.
struct RunKeys {
  cluster::ClusterConfig cluster;
  store::StoreConfig store;
  watch::WatchConfig watch;
  bool retries_quarantined = false;  // run.retry_quarantined
};

/// A function that returns the number of ranks, given the settings of devices.*.
using RanksOf = std::function<int(const cluster::ClusterConfig& cluster)>;

/// Reads the settings of the run, and checks the job's keys (JobSpec::check) for the number of
/// ranks that `ranks` returns.
/// Ranks:  local.
/// Errors: one exception with all mistakes (see check_all()).
RunKeys read_run_keys(const Config& config, const RanksOf& ranks);

/// Returns the job of the configuration. Every rank parses the job's keys, and rank 0 checks the
/// files that the job needs (Job::check_files). `config` must outlive the job.
/// Ranks:  collective over `world`.
/// Errors: those of jobs::read_job() and Job::check_files(), on all ranks.
std::unique_ptr<jobs::Job> read_checked_job(const cluster::Group& world, const Config& config);

/// Returns the request with which the store::RunDirectory of this run is opened. `command` is the
/// command line of the program, as in argv.
/// Ranks:  collective over `world`.
store::RunRequest run_request(const cluster::Group& world, const Config& config,
                              const jobs::Job& job, const RunKeys& keys, DeviceKind device,
                              const std::vector<std::string>& command);

/// Returns the options for the SoftStop of a run. Only rank 0 looks for the file STOP. All ranks
/// watch run.time_limit. `elapsed_s` is the time since this process started, in seconds.
SoftStop::Options stop_options(const Config& config, const cluster::Group& world,
                               const store::RunDirectory& directory, double elapsed_s);

}  // namespace mgpu::app
