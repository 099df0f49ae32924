#include "merge_parts.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <utility>

#include <mgpu/app/build_info.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/run_identity.hpp>
#include <mgpu/store/journal/journal_copy.hpp>
#include <mgpu/store/run_dir/repro.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "part_checks.hpp"
#include "run_keys.hpp"

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;

using formats::JsonValue;

/// Returns the facts about the run in folder `given` that a merge needs. Rank 0 calls this
/// function, and sends the facts as JSON to the other ranks.
JsonValue facts_of(const fs::path& given) {
  const auto keys = store::keys_of_run(given);
  const auto inputs = store::inputs_of_run(given);
  return JsonValue::Members{{"folder", fs::canonical(given).string()},
                            {"format", store::format_of_run(given)},
                            {"finished", store::is_finished_run(given)},
                            {"keys", JsonValue::Members(keys.begin(), keys.end())},
                            {"inputs", JsonValue::Members(inputs.begin(), inputs.end())}};
}

PartRun open_run(const cluster::Group& world, const fs::path& given) {
  using Texts = std::map<std::string, std::string>;
  const JsonValue facts = formats::parse_json_object(
      cluster::on_rank_0(world, [&] { return formats::to_json_line(facts_of(given)); }));
  PartRun run{.folder = facts.get<std::string>("folder"),
              .config = config_of_run(world, facts.get<std::string>("folder"))};
  run.is_finished = facts.get<bool>("finished");
  run.format = facts.get<int>("format");
  run.part = run::read_job_keys(run.config).part;
  run.device_keys = run::device_keys_in(facts.get<Texts>("keys"), run.config);
  run.inputs = facts.get<Texts>("inputs");
  return run;
}

std::vector<PartRun> open_runs(const cluster::Group& world, const Options& options) {
  std::vector<fs::path> folders = {options.detail};
  folders.insert(folders.end(), options.more_directories.begin(), options.more_directories.end());
  std::vector<PartRun> runs;
  for (const fs::path& given : folders)
    runs.push_back(open_run(world, given));
  return runs;
}

/// Returns the configuration for a single run of all parts. It is made from the configuration of
/// `run` and from the settings of the command line.
/// Ranks:  collective over `world`.
Config whole_config(const cluster::Group& world, const PartRun& run, const Options& options) {
  return config_of_run(world, run.folder, options)
      .with("run.worker_id", "0")
      .with("run.total_workers", "1")
      .with("run.resume", "auto");
}

store::RunRequest request_of(const Config& config, const PartRun& first,
                             const store::StoreConfig& store,
                             const std::vector<std::string>& command) {
  store::RunRequest request;
  request.output = store.output_folder;
  request.name = store.run_name;
  request.resume = "never";
  request.job = read_job_name(config);
  request.identity = run::run_identity(config, {}, first.device_keys);
  request.keys = store::identity_keys(config);
  request.keys.insert(first.device_keys.begin(), first.device_keys.end());
  request.command = command;
  return request;
}

std::vector<std::string> command_of(const std::vector<PartRun>& runs) {
  std::vector<std::string> command = {"mgpu_spmd", "--merge"};
  for (const PartRun& run : runs)
    command.push_back(run.folder.string());
  return command;
}

}  // namespace

ExitCode merge_parts(const cluster::Group& world, const Options& options) {
  const std::vector<PartRun> runs = open_runs(world, options);
  cluster::run_together(world, [&] { check_part_runs(runs); });
  const Config config = whole_config(world, runs.front(), options);
  store::StoreConfig store;
  cluster::run_together(world, [&] {
    store = store::read_store_config(config);
    if (config.identity() != runs.front().config.identity())
      throw do_not_fit("the command line changes what the runs were made of", {},
                       "give keys such as run.output and run.name only");
  });

  const std::unique_ptr<jobs::Job> job = jobs::read_job(world, config);
  const std::vector<std::string> command = command_of(runs);
  store::RunDirectory directory(world, request_of(config, runs.front(), store, command));
  directory.record_inputs(world, runs.front().inputs);
  store::write_repro(
      world, directory.path(),
      {config.resolved_yaml(), command, build_info().versions, {{"run", job->run_keys().seed}}},
      {});
  store::ChunkJournal journal(directory.path(), world, directory.attempt(), store.sync_s);
  std::vector<fs::path> folders;
  for (const PartRun& run : runs)
    folders.push_back(run.folder);
  store::UpgradeChunk upgrade;
  cluster::run_together(world, [&] {
    if (runs.front().format != store::kNewestRunFormat) upgrade = job->upgrade_chunks();
  });
  store::copy_chunks(world, folders, journal, upgrade);
  run::MergedRun merged = job->merge(world, {config, store, directory}, journal);
  merged.warnings = doubled_parts(runs);
  record_attempts(world, directory, config);
  const bool is_whole = std::ranges::all_of(
      merged.parts, [](const run::MergedPart& part) { return part.present == part.planned; });
  directory.point_latest();
  directory.finish(world, is_whole ? ExitCode::done : ExitCode::stopped);
  if (world.rank() == 0)
    std::cout << merge_text(merged, directory.path() / store.result_file, is_whole) << std::flush;
  return ExitCode::done;
}

}  // namespace mgpu::app
