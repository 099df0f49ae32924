#include "earlier_runs.hpp"

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/run/export_format.hpp>
#include <mgpu/run/run_identity.hpp>
#include <mgpu/store/run_dir/attempt_record.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::jobs {
namespace {

/// Describes a file by its name, its size and the time of its last change. Returns "" if the file
/// does not exist.
std::string file_mark(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  const auto changed = fs::last_write_time(path, error);
  if (error) return "";
  return path.filename().string() + " " + std::to_string(bytes) + " " +
         std::to_string(changed.time_since_epoch().count()) + "\n";
}

/// Describes a file by file_mark(). For a folder, such as that of a model, describes each file in
/// the folder, but no files in its subfolders.
std::string mark_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return file_mark(path);
  std::vector<std::string> marks;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
    if (entry.is_regular_file(error)) marks.push_back(file_mark(entry.path()));
  std::ranges::sort(marks);
  std::string all;
  for (const std::string& mark : marks)
    all += mark;
  return all;
}

bool is_input(const Stage& stage, const std::string& key) {
  return std::ranges::find(stage.inputs, key, &StageInput::key) != stage.inputs.end();
}

/// Returns whether the run is finished, and the last exit code that its attempts recorded is 0.
bool is_done(const fs::path& run) {
  if (!store::is_finished_run(run)) return false;
  std::optional<ExitCode> exit;
  for (const store::AttemptRecord& attempt : store::attempts_of(run))
    if (attempt.exit) exit = attempt.exit;
  return exit == ExitCode::done;
}

/// Returns whether the run has all of these: the result file, the file outcome.json, and those
/// exports of `stage` that other stages read.
bool has_files(const fs::path& run, const Stage& stage) {
  const fs::path results = run / store::read_store_config(stage.config).result_file;
  std::error_code error;
  if (!fs::exists(results, error) || !fs::exists(run / kOutcomeFile, error)) return false;
  return std::ranges::all_of(export_formats(job_of(stage.config)), [&](const auto& format) {
    const bool is_read = std::ranges::find(stage.exports, format.name) != stage.exports.end();
    return !is_read || fs::exists(run::export_path(format, results), error);
  });
}

}  // namespace

fs::path stages_folder(const store::StoreConfig& experiment) {
  return fs::absolute(experiment.output_folder) / experiment.run_name / "stages";
}

namespace {

/// Returns one text with the mark_of() of each input file of the stage. The input files are those
/// in keys that can change the results (KeySpec::identity). Files that other stages write are left
/// out.
std::string marks_of(const Stage& stage, const Config& config) {
  std::string marks;
  for (const KeySpec* key : config.keys()) {
    if (key->type != KeyType::path || !key->identity || is_input(stage, key->name)) continue;
    const std::string text = config.text(key->name);
    if (is_path(*key, text)) marks += key->name + "\n" + mark_of(text);
  }
  return marks;
}

std::string identity_with(const Config& config, const std::string& marks,
                          const std::map<std::string, std::string>& of_device) {
  return store::with_input_files(run::run_identity(config, {}, of_device), sha256_hex(marks));
}

/// Returns a copy of `of_device`, the result of run::device_keys() (batch sizes and other sizes on
/// a GPU). Replaces each value `auto` by the value that the run in directory `run` recorded for the
/// key, if any.
std::map<std::string, std::string> as_chosen_in(const fs::path& run,
                                                std::map<std::string, std::string> of_device) {
  const std::map<std::string, std::string> chosen = store::keys_of_run(run);
  for (auto& [name, value] : of_device)
    if (const auto found = chosen.find(name); value == "auto" && found != chosen.end())
      value = found->second;
  return of_device;
}

/// Returns the run directories in the folder of a stage, newest first.
std::vector<fs::path> runs_of(const fs::path& folder) {
  std::vector<fs::path> runs;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (!entry.is_symlink() && fs::exists(entry.path() / "run.json", error))
      runs.push_back(entry.path());
  std::sort(runs.rbegin(), runs.rend());
  return runs;
}

}  // namespace

PreparedStage prepare_stage(const Stage& stage, const StagePlace& place,
                            const std::map<std::size_t, std::string>& directories,
                            bool checks_files) {
  const Config config = with_chunk_size(with_inputs(stage, directories));
  if (checks_files) read_job(config)->check_files();
  const auto of_device = run::device_keys(config, place.device);
  const std::string marks = marks_of(stage, config);
  PreparedStage prepared{config.shown("run.chunk_size"), identity_with(config, marks, of_device)};
  for (const fs::path& run : runs_of(place.folder / stage.name)) {
    try {
      const std::string wanted = identity_with(config, marks, as_chosen_in(run, of_device));
      if (store::identity_of_run(run) != wanted || !is_done(run) || !has_files(run, stage))
        continue;
      prepared.end = end_of(read_file(run / kOutcomeFile));
      prepared.end.directory = run.string();
      prepared.earlier = run;
      break;
    } catch (const std::exception&) {
      continue;  // the records of this run are damaged, so it cannot be reused
    }
  }
  return prepared;
}

namespace {

/// Parses a UTC time such as 2026-11-25T10:42:07Z. Returns the seconds since 1970; nullopt for
/// texts in other formats.
std::optional<std::time_t> time_of(const std::string& utc) {
  std::istringstream stream(utc);
  std::tm time{};
  stream >> std::get_time(&time, "%Y-%m-%dT%H:%M:%SZ");
  if (stream.fail()) return std::nullopt;
  return ::timegm(&time);
}

bool was_killed(const store::AttemptRecord& attempt) {
  return attempt.ended.empty();
}

/// Returns how many seconds an attempt took; 0 if it was killed.
double seconds_of(const store::AttemptRecord& attempt) {
  const auto begun = time_of(attempt.begun);
  const auto ended = time_of(attempt.ended);
  return begun && ended ? std::difftime(*ended, *begun) : 0.0;
}

/// Returns a stage that `stage` waits for and that is not in `directories`; nullptr if there is no
/// such stage.
const Stage* missing_before(const std::vector<Stage>& stages, const Stage& stage,
                            const std::map<std::size_t, std::string>& directories) {
  for (const std::size_t before : stage.after)
    if (!directories.contains(before)) return &stages[before];
  return nullptr;
}

}  // namespace

std::vector<StagePlan> stage_plans(const std::vector<Stage>& stages, const StagePlace& place) {
  std::map<std::size_t, std::string> directories;
  std::vector<StagePlan> plans(stages.size());
  // In `stages`, a stage may come before a stage that it waits for. So one pass may not find all
  // reused stages.
  for (std::size_t pass = 0; pass < stages.size(); ++pass) {
    const std::size_t known = directories.size();
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (directories.contains(s)) continue;
      if (const Stage* before = missing_before(stages, stages[s], directories)) {
        plans[s].text = "new, because stage " + before->name + " is new";
        continue;
      }
      const fs::path earlier = prepare_stage(stages[s], place, directories, false).earlier;
      plans[s] = {earlier.empty() ? "new, because " + (place.folder / stages[s].name).string() +
                                        " has no finished run with these settings and files"
                                  : "reused from " + earlier.string(),
                  earlier};
      if (!earlier.empty()) directories[s] = earlier.string();
    }
    if (directories.size() == known) break;
  }
  return plans;
}

std::optional<MeasuredWork> measured_work(const StagePlace& place, const Stage& stage) {
  for (const fs::path& run : runs_of(place.folder / stage.name)) {
    try {
      if (!is_done(run)) continue;
      const std::vector<store::AttemptRecord> attempts = store::attempts_of(run);
      if (std::ranges::any_of(attempts, was_killed)) continue;  // the time is unknown
      MeasuredWork work{.run = run};
      for (const store::AttemptRecord& attempt : attempts)
        work.rank_seconds += attempt.ranks * seconds_of(attempt);
      return work;
    } catch (const Failure&) {
      continue;  // the records of this run are damaged
    }
  }
  return std::nullopt;
}

}  // namespace mgpu::jobs
