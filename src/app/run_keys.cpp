#include "run_keys.hpp"

#include <mgpu/config/check_all.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/run/run_identity.hpp>

namespace mgpu::app {

RunKeys read_run_keys(const Config& config, const RanksOf& ranks) {
  RunKeys keys;
  check_all({[&] { keys.cluster = cluster::read_cluster_config(config); },
             [&] { keys.store = store::read_store_config(config); },
             [&] { keys.watch = watch::read_watch_config(config); },
             [&] { keys.retries_quarantined = config.flag("run.retry_quarantined"); },
             [&] { jobs::job_of(config).check(config, ranks(keys.cluster)); }});
  return keys;
}

std::unique_ptr<jobs::Job> read_checked_job(const cluster::Group& world, const Config& config) {
  std::unique_ptr<jobs::Job> job = jobs::read_job(world, config);
  cluster::run_together(world, [&] {
    if (world.rank() == 0) job->check_files();
  });
  return job;
}

store::RunRequest run_request(const cluster::Group& world, const Config& config,
                              const jobs::Job& job, const RunKeys& keys, DeviceKind device,
                              const std::vector<std::string>& command) {
  store::RunRequest request;
  request.output = keys.store.output_folder;
  request.name = keys.store.run_name;
  request.resume = keys.store.resume;
  request.job = read_job_name(config);
  const auto of_device = run::device_keys(config, device);
  request.identity = run::run_identity(config, job.run_keys(), of_device);
  request.keys = store::identity_keys(config);
  request.keys.insert(of_device.begin(), of_device.end());
  for (const auto& [name, value] : of_device)
    if (value == "auto") request.resolved_later.push_back(name);
  if (job.run_keys().is_part_of_run()) request.keys["--only"] = run::part_text(job.run_keys().part);
  request.reopens = keys.retries_quarantined;
  request.command = command;
  cluster::run_together(world, [&] {
    constexpr std::uint64_t kLogBytes = std::uint64_t{16} << 20;  // logs, curves and report.html
    if (world.rank() == 0) request.needed_bytes = job.disk_bytes() + kLogBytes;
  });
  return request;
}

SoftStop::Options stop_options(const Config& config, const cluster::Group& world,
                               const store::RunDirectory& directory, double elapsed_s) {
  SoftStop::Options options;
  if (world.rank() == 0) options.stop_file = directory.path() / "STOP";
  if (!config.is("run.time_limit", "none")) options.time_limit_s = config.seconds("run.time_limit");
  options.elapsed_s = elapsed_s;
  return options;
}

}  // namespace mgpu::app
