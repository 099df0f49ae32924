#include "run_keys.hpp"

#include <mgpu/config/check_together.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::app {

RunKeys read_run_keys(const Config& config, const RanksOf& ranks) {
  RunKeys keys;
  check_together({[&] { keys.cluster = cluster::read_cluster_config(config); },
                  [&] { keys.store = store::read_store_config(config); },
                  [&] { keys.watch = watch::read_watch_config(config); },
                  [&] { jobs::job_of(config).check(config, ranks(keys.cluster)); }});
  return keys;
}

void check_run_files(const cluster::Group& world, const Config& config) {
  cluster::run_together(world, [&] {
    if (world.rank() == 0) jobs::job_of(config).check_files(config);
  });
}

std::string run_identity(const Config& config) {
  const std::string whole = config.identity();
  if (!run::is_part_of_run(config)) return whole;
  return whole + ", " + run::part_text(run::read_chunk_part(config));
}

store::RunRequest run_request(const cluster::Group& world, const Config& config,
                              const store::StoreConfig& store,
                              const std::vector<std::string>& command) {
  store::RunRequest request;
  request.output = store.output_folder;
  request.name = store.run_name;
  request.resume = store.resume;
  request.job = config.text("job");
  request.identity = run_identity(config);
  request.keys = store::identity_keys(config);
  if (run::is_part_of_run(config))
    request.keys["--only"] = run::part_text(run::read_chunk_part(config));
  request.reopens = config.flag("run.retry_quarantined");
  request.command = command;
  cluster::run_together(world, [&] {
    constexpr std::uint64_t kLogBytes = std::uint64_t{16} << 20;  // logs, curves, report
    if (world.rank() == 0)
      request.needed_bytes = jobs::job_of(config).disk_bytes(config) + kLogBytes;
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
