#include "open_run.hpp"

#include <algorithm>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/results/file_inspection.hpp>
#include <mgpu/store/run_dir/attempt_record.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "host_facts.hpp"
#include "run_record.hpp"

namespace mgpu::store {
namespace {

/// Makes a folder in `base` and returns its path. The folder's name is the time stamp, with a
/// number appended if that name is taken.
fs::path make_stamped_folder(const fs::path& base) {
  make_folder(base);
  const std::string stamp = local_stamp();
  for (int number = 1;; ++number) {
    const fs::path folder = base / (number == 1 ? stamp : stamp + "_" + std::to_string(number));
    std::error_code error;
    if (fs::create_directory(folder, error)) return folder;
    if (error) make_folder(folder);  // throws the reason, unless the folder exists by now
  }
}

OpenedRun make_new(const RunRequest& request) {
  require_free_space(request.output, request.needed_bytes);
  const fs::path folder = make_stamped_folder(request.output / request.name);
  RunLock lock(folder);
  for (const char* part : {"attempts", "parts", "tb"})
    make_folder(folder / part);
  RunRecord{request.name, request.job, request.identity, request.keys, {}, utc_now()}.write(folder);
  return {folder, std::move(lock)};
}

/// Returns `request` with values for the keys of RunRequest::resolved_later. The value of such a
/// key in `record` replaces `auto` in the identity and the keys of the request. A key stays `auto`
/// if `record` has no other value for the key.
RunRequest as_resolved_in(const RunRecord& record, RunRequest request) {
  for (const std::string& key : request.resolved_later) {
    const auto found = record.keys.find(key);
    if (found == record.keys.end() || found->second == "auto") continue;
    request.identity = with_resolved_key(std::move(request.identity), key, found->second);
    request.keys[key] = found->second;
  }
  return request;
}

/// Returns whether `record` and `request` have the same job, and the same values of the keys that
/// both have. A key that only one of them has does not count, because runs of different formats
/// have different keys.
bool is_same_run(const RunRecord& record, const RunRequest& request) {
  return record.job == request.job &&
         std::all_of(record.keys.begin(), record.keys.end(), [&](const auto& key) {
           const auto found = request.keys.find(key.first);
           return found == request.keys.end() || found->second == key.second;
         });
}

/// Throws Failure E608 if the run has format 1, because only the version that started such a run
/// can finish it.
void refuse_format_1(const RunRecord& record, const fs::path& folder) {
  if (record.format == kNewestRunFormat) return;
  throw Failure({"E608",
                 ExitCode::cannot_create,
                 "this unfinished run was begun by mgpu_spmd 0.1, whose journal has another format",
                 {"  --> " + folder.string()},
                 "finish it with mgpu_spmd 0.1, or start anew: --resume=never"});
}

/// Returns the folders of the unfinished runs with the name and identity of the request, newest
/// first. Finished runs are included if RunRequest::reopens is set. Adds a note to `notes` for each
/// run whose run.json cannot be read.
/// Errors: Failure E608 if there is no folder to return, but is_same_run() is true for an
///         unfinished run of format 1.
std::vector<fs::path> candidates(const RunRequest& request, std::vector<std::string>& notes) {
  std::vector<fs::path> found;
  std::vector<fs::path> old;
  std::error_code none;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(request.output / request.name, none)) {
    if (entry.is_symlink() || !fs::exists(entry.path() / "run.json")) continue;
    try {
      const RunRecord record = RunRecord::read(entry.path());
      const bool may_go_on = !record.finished || request.reopens;
      const bool is_old = record.format != kNewestRunFormat && !record.finished;
      if (is_old && is_same_run(record, request)) old.push_back(entry.path());
      if (may_go_on && record.identity == as_resolved_in(record, request).identity)
        found.push_back(entry.path());
    } catch (const Failure& failure) {
      notes.push_back("not resumed: " + entry.path().string() + ": " + failure.report().sentence);
    }
  }
  if (found.empty() && !old.empty()) {
    const fs::path newest = *std::max_element(old.begin(), old.end());
    refuse_format_1(RunRecord::read(newest), newest);
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

OpenedRun resume_newest(const RunRequest& request, std::vector<std::string>& notes) {
  for (const fs::path& folder : candidates(request, notes)) {
    RunLock lock(folder);
    // While this process waited for the lock, the last holder may have finished the run.
    if (!RunRecord::read(folder).finished || request.reopens) return {folder, std::move(lock)};
  }
  return make_new(request);
}

/// Checks a file that a run of this program wrote. Throws Failure E604 (exit 80) if it is damaged.
void require_own_file(const fs::path& path) {
  try {
    require_sound(path);
  } catch (const Failure& failure) {
    ErrorReport report = failure.report();
    if (report.exit != ExitCode::data) throw;
    report.code = "E604";  // the file was readable when the run wrote it
    report.exit = ExitCode::corrupt;
    throw Failure(std::move(report));
  }
}

/// Throws a Failure that tells the user that the run is finished. The Failure has no error code,
/// because this is no error. It has the exit code of the run: `done` or `incomplete`. Errors:
/// Failure E604 (exit 80) when an HDF5 file of the run is damaged.
[[noreturn]] void end_at_once(const fs::path& folder) {
  ExitCode exit = ExitCode::done;
  for (const AttemptRecord& attempt : attempts_of(folder))
    exit = attempt.exit.value_or(exit);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".h5") require_own_file(entry.path());
  throw Failure({"",
                 exit,
                 "this run is finished: there is nothing to resume",
                 {"  --> " + folder.string()},
                 ""});
}

constexpr const char* kInputFiles = ", files=";

/// Returns an identity without the mark of with_input_files(), if it has one.
std::string without_input_files(const std::string& identity) {
  return identity.substr(0, identity.rfind(kInputFiles));
}

OpenedRun resume_this(const RunRequest& request) {
  RunRecord::read(request.resume);
  const fs::path folder = fs::canonical(request.resume);  // the link `latest` may change soon
  RunLock lock(folder);
  const RunRecord record = RunRecord::read(folder);
  ErrorReport report{"E608",
                     ExitCode::cannot_create,
                     "",
                     {"  --> " + folder.string()},
                     "start anew: --resume=never"};
  if (!record.finished || request.reopens) refuse_format_1(record, folder);
  const RunRequest resolved = as_resolved_in(record, request);
  if (record.identity != resolved.identity &&
      without_input_files(record.identity) != resolved.identity) {
    report.sentence = "this run directory belongs to another configuration";
    for (std::string& line : differences(record.keys, resolved.keys, {"there", "here"}))
      report.lines.push_back(std::move(line));
    throw Failure(std::move(report));
  }
  if (record.finished && !request.reopens) end_at_once(folder);
  return {folder, std::move(lock)};
}

}  // namespace

OpenedRun open_or_make(const RunRequest& request, std::vector<std::string>& notes) {
  if (request.resume == "never") return make_new(request);
  if (request.resume == "auto") return resume_newest(request, notes);
  return resume_this(request);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return;
  throw Failure({"E601",
                 ExitCode::cannot_create,
                 "cannot create the run directory: " + error.message(),
                 {"  --> " + folder.string()},
                 "choose another folder: --output DIR"});
}

std::string with_input_files(const std::string& identity, const std::string& mark) {
  return identity + kInputFiles + mark;
}

std::string with_resolved_key(std::string identity, const std::string& key,
                              const std::string& value) {
  const std::string before = ", " + key + "=auto";
  const std::size_t at = identity.find(before);
  if (at == std::string::npos) return identity;
  return identity.replace(at, before.size(), ", " + key + "=" + value);
}

}  // namespace mgpu::store
