#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include <mgpu/app/build_info.hpp>
#include <mgpu/app/commands.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/cluster/shared_files.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/run_identity.hpp>
#include <mgpu/store/run_dir/repro.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "merge_parts.hpp"
#include "run_keys.hpp"
#include "run_tables.hpp"

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;

bool is_finished(const cluster::Group& world, const fs::path& folder) {
  bool finished = false;
  cluster::run_together(world, [&] {
    if (world.rank() == 0) finished = store::is_finished_run(folder);
  });
  return world.all_reduce(std::int32_t{finished ? 1 : 0}, cluster::ReduceOp::max) == 1;
}

store::RunRequest request_of(const cluster::Group& world, const Config& config,
                             const run::JobKeys& keys, const fs::path& folder) {
  std::map<std::string, std::string> of_device;  // sizes such as batch sizes, see
                                                 // run::device_keys(); set on rank 0 only
  cluster::run_together(world, [&] {
    if (world.rank() == 0) of_device = run::device_keys_in(store::keys_of_run(folder), config);
  });
  store::RunRequest request;
  request.output = folder;  // the run directory, not its parent, so `latest` does not change
  request.resume = folder.string();
  request.job = read_job_name(config);
  request.identity = run::run_identity(config, keys, of_device);
  request.keys = store::identity_keys(config);
  request.command = {"mgpu_spmd", "--merge", folder.string()};
  return request;
}

}  // namespace

Config config_of_run(const cluster::Group& world, const fs::path& folder, const Options& given) {
  Options options;
  options.config = (folder / "repro" / "config.resolved.yaml").string();
  options.overlays = given.overlays;
  options.overrides = given.overrides;
  Config config = load_config(options, program_keys(), cluster::shared_files(world));
  const int format = cluster::on_rank_0(world, [&] { return store::format_of_run(folder); });
  // Format 1 of journals and results is that of older versions. Such results contain no columns of
  // the user's data file.
  return format == 1 ? config.with("output.keep_columns", "[]") : config;
}

std::string merge_text(const run::MergedRun& merged, const fs::path& results, bool is_finished) {
  bool is_complete = true;
  std::string parts;
  for (const run::MergedPart& part : merged.parts) {
    is_complete = is_complete && part.present == part.planned;
    parts += "  " + report::pad_right(part.what, 12) + report::grouped(part.present) + " of " +
             report::grouped(part.planned) + " " + part.unit + "\n";
  }
  std::string text;
  for (const std::string& warning : merged.warnings)
    text += warning + "\n";
  text += "merged " + results.string() + (is_complete ? "\n" : ": partial\n") + parts;
  if (is_finished) return text;
  return text +
         "  the run can still go on: " + store::path_argument("--resume", results.parent_path()) +
         "\n";
}

/// Writes run.h5 if the file does not exist. The new file contains little more than the table of
/// attempts. The times of phases are lost, because only the ended processes of the attempts knew
/// them.
void record_attempts(const cluster::Group& world, const store::RunDirectory& directory,
                     const Config& config) {
  const auto is_here = world.broadcast(
      world.rank() == 0 && fs::exists(directory.path() / "run.h5") ? "yes" : "no", 0);
  if (is_here == "yes") return;
  RunTables tables;
  tables.attributes = {{"program", build_info().version},
                       {"git", build_info().git},
                       {"name", store::read_store_config(config).run_name},
                       {"job", read_job_name(config)}};
  write_run_tables(world, directory, tables);
}

ExitCode merge_run(const cluster::Group& world, const Options& options) {
  if (!options.more_directories.empty()) return merge_parts(world, options);
  const fs::path folder = options.detail;
  if (is_finished(world, folder)) {
    if (world.rank() == 0) {
      std::cout << folder.string() << " is finished: there is nothing to merge\n";
    }
    return ExitCode::done;
  }
  const Config config = config_of_run(world, folder);
  store::StoreConfig store;
  cluster::run_together(world, [&] { store = store::read_store_config(config); });
  const std::unique_ptr<jobs::Job> job = jobs::read_job(world, config);
  store::RunDirectory directory(world, request_of(world, config, job->run_keys(), folder));
  const store::ChunkJournal journal(directory.path(), world, directory.attempt(), store.sync_s);
  const run::MergedRun merged = job->merge(world, {config, store, directory}, journal);
  record_attempts(world, directory, config);
  directory.finish(world, ExitCode::stopped);  // this attempt is over, but the run is not
  if (world.rank() == 0) {
    std::cout << merge_text(merged, directory.path() / store.result_file, false) << std::flush;
  }
  return ExitCode::done;
}

}  // namespace mgpu::app
