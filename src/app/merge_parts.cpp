#include "merge_parts.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <utility>

#include <mgpu/app/build_info.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/config/path_text.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/store/journal/journal_copy.hpp>
#include <mgpu/store/run_dir/repro.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;

/// A run that --merge joins. All ranks have the same facts about it.
struct PartRun {
  fs::path folder;
  Config config;
  bool is_finished = false;
  int format = store::kNewestRunFormat;
  run::ChunkPart part{};
};

std::string command_of(const PartRun& run) {
  const fs::path config = run.folder / "repro" / "config.resolved.yaml";
  return "mpirun -np 2 ./mgpu_spmd " + store::shell_word(config.string());
}

Failure do_not_fit(std::string sentence, std::vector<std::string> lines, std::string help) {
  return Failure({"E610", ExitCode::data, std::move(sentence), std::move(lines), std::move(help)});
}

std::vector<PartRun> open_runs(const cluster::Group& world, const Options& options) {
  std::vector<fs::path> folders = {options.detail};
  folders.insert(folders.end(), options.more_directories.begin(), options.more_directories.end());
  std::vector<PartRun> runs;
  for (const fs::path& given : folders) {
    std::int32_t facts = 0;  // on rank 0: 2 * format, plus 1 if the run is finished
    std::string folder;
    cluster::run_together(world, [&] {
      if (world.rank() != 0) return;
      facts = 2 * store::format_of_run(given) + (store::is_finished_run(given) ? 1 : 0);
      folder = fs::canonical(given).string();
    });
    folder = world.broadcast(folder, 0);
    facts = world.all_reduce(facts, cluster::ReduceOp::max);
    Config config = config_of_run(world, folder);
    const run::ChunkPart part = run::read_job_keys(config).part;
    runs.push_back({folder, std::move(config), facts % 2 == 1, facts / 2, part});
  }
  return runs;
}

void check_identities(const std::vector<PartRun>& runs) {
  const PartRun& first = runs.front();
  const auto expected = store::identity_keys(first.config);
  for (const PartRun& run : runs) {
    if (run.config.identity() == first.config.identity()) continue;
    std::vector<std::string> lines = {"  --> " + first.folder.string(),
                                      "  --> " + run.folder.string()};
    for (const auto& [key, value] : store::identity_keys(run.config)) {
      const auto found = expected.find(key);
      const std::string there = found == expected.end() ? "(none)" : found->second;
      if (there == value) continue;
      lines.push_back("  " + key + ": " + there + " in the first, " + value + " in the other");
    }
    throw do_not_fit("these runs have different configurations", std::move(lines),
                     "merge runs that differ in --only alone");
  }
}

/// Throws if the runs have different formats, because one journal cannot hold both.
void check_formats(const std::vector<PartRun>& runs) {
  std::vector<std::string> lines;
  bool is_mixed = false;
  for (const PartRun& run : runs) {
    lines.push_back("  --> " + run.folder.string() + ": format " + std::to_string(run.format));
    is_mixed = is_mixed || run.format != runs.front().format;
  }
  if (!is_mixed) return;
  throw do_not_fit("these runs were written by versions with different formats", std::move(lines),
                   "run the parts of the older format again, then merge");
}

void check_that_job_has_parts(const PartRun& run) {
  const jobs::JobSpec& job = jobs::job_of(run.config);
  if (job.has_parts) return;
  throw do_not_fit("job " + std::string(job.name) + " has no parts that could be merged",
                   {"  --> " + run.folder.string()}, "give --merge one run directory of this job");
}

void check_finished(const std::vector<PartRun>& runs) {
  std::vector<std::string> lines;
  std::string help;
  for (const PartRun& run : runs) {
    if (run.is_finished) continue;
    lines.push_back("  --> " + run.folder.string() + ": " + run::part_text(run.part));
    if (help.empty())
      help = command_of(run) + " " +
             store::shell_word("--resume=" + unexpanded_path(run.folder.string()));
  }
  if (lines.empty()) return;
  throw do_not_fit("a run to merge is not finished", std::move(lines), std::move(help));
}

/// Returns the runs by part if all have the same number of parts; otherwise an empty map.
std::map<int, std::vector<const PartRun*>> by_part(const std::vector<PartRun>& runs) {
  std::map<int, std::vector<const PartRun*>> parts;
  for (const PartRun& run : runs) {
    if (run.part.count != runs.front().part.count) return {};
    parts[run.part.index].push_back(&run);
  }
  return parts;
}

void check_parts(const std::vector<PartRun>& runs) {
  const auto parts = by_part(runs);
  if (parts.empty()) return;  // the numbers of parts differ; gaps are found after the merge
  std::vector<std::string> missing;
  std::string help;
  const int count = runs.front().part.count;
  for (int part = 0; part < count; ++part) {
    if (parts.contains(part)) continue;
    missing.push_back("  " + run::part_text({part, count}));
    if (help.empty())
      help = command_of(runs.front()) + " --only " + std::to_string(part) + "/" +
             std::to_string(count);
  }
  if (missing.empty()) return;
  throw do_not_fit("parts of the run are missing", std::move(missing), std::move(help));
}

/// Returns a note for each part that is given more than once; its copies do not change the result.
std::vector<std::string> doubled_parts(const std::vector<PartRun>& runs) {
  std::vector<std::string> notes;
  for (const auto& [part, same] : by_part(runs)) {
    if (same.size() == 1) continue;
    std::string note = run::part_text({part, runs.front().part.count}) + " is given " +
                       std::to_string(same.size()) + " times and taken once:";
    for (const PartRun* run : same)
      note += "\n  " + run->folder.string();
    notes.push_back(std::move(note));
  }
  return notes;
}

/// Returns the configuration of a single run of all parts, with the settings of the command line.
Config whole_config(const cluster::Group& world, const PartRun& run, const Options& options) {
  return config_of_run(world, run.folder, options.overrides)
      .with("run.worker_id", "0")
      .with("run.total_workers", "1")
      .with("run.resume", "auto");
}

store::RunRequest request_of(const Config& config, const store::StoreConfig& store,
                             const std::vector<std::string>& command) {
  store::RunRequest request;
  request.output = store.output_folder;
  request.name = store.run_name;
  request.resume = "never";
  request.job = read_job_name(config);
  request.identity = config.identity();
  request.keys = store::identity_keys(config);
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
  cluster::run_together(world, [&] {
    check_formats(runs);
    check_identities(runs);
    check_that_job_has_parts(runs.front());
    check_finished(runs);
    check_parts(runs);
  });
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
  store::RunDirectory directory(world, request_of(config, store, command));
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
