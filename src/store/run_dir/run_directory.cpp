#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/machine.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/results/file_inspection.hpp>
#include <mgpu/store/run_dir/attempt_record.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "host_facts.hpp"
#include "run_record.hpp"
#include "store/journal/ledger_file.hpp"

namespace mgpu::store {
namespace {

using formats::JsonValue;

struct Opened {
  fs::path path;
  RunLock lock;
};

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

Opened make_new(const RunRequest& request) {
  require_free_space(request.output, request.needed_bytes);
  const fs::path folder = make_stamped_folder(request.output / request.name);
  RunLock lock(folder);
  for (const char* part : {"attempts", "parts", "tb"})
    make_folder(folder / part);
  RunRecord{request.name, request.job, request.identity, request.keys, {}, utc_now()}.write(folder);
  return {folder, std::move(lock)};
}

/// Returns `identity` with ", KEY=VALUE" in place of ", KEY=auto", where KEY is `key` and VALUE is
/// `value`. Returns `identity` unchanged if it does not contain ", KEY=auto".
std::string with_value(std::string identity, const std::string& key, const std::string& value) {
  const std::string before = ", " + key + "=auto";
  const std::size_t at = identity.find(before);
  if (at == std::string::npos) return identity;
  return identity.replace(at, before.size(), ", " + key + "=" + value);
}

/// Returns `request` with values for the keys of RunRequest::resolved_later. The value of such a
/// key in `record` replaces `auto` in the identity and the keys of the request. A key stays `auto`
/// if `record` has no other value for the key.
RunRequest as_resolved_in(const RunRecord& record, RunRequest request) {
  for (const std::string& key : request.resolved_later) {
    const auto found = record.keys.find(key);
    if (found == record.keys.end() || found->second == "auto") continue;
    request.identity = with_value(std::move(request.identity), key, found->second);
    request.keys[key] = found->second;
  }
  return request;
}

/// Returns whether `record` and `request` have the same job, and the same values of the keys that
/// both have. A key that only one of them has does not count, because formats differ in their keys.
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

Opened resume_newest(const RunRequest& request, std::vector<std::string>& notes) {
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

/// Throws a Failure without an error code, because a finished run has nothing to do. The Failure
/// has the exit code of the run: `done` or `incomplete`. Errors: Failure E604 (exit 80) when an
/// HDF5 file of the run is damaged.
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

Opened resume_this(const RunRequest& request) {
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
  if (record.identity != resolved.identity) {
    report.sentence = "this run directory belongs to another configuration";
    for (std::string& line : differences(record.keys, resolved.keys, {"there", "here"}))
      report.lines.push_back(std::move(line));
    throw Failure(std::move(report));
  }
  if (record.finished && !request.reopens) end_at_once(folder);
  return {folder, std::move(lock)};
}

Opened open_or_make(const RunRequest& request, std::vector<std::string>& notes) {
  if (request.resume == "never") return make_new(request);
  if (request.resume == "auto") return resume_newest(request, notes);
  return resume_this(request);
}

/// Returns the number of bytes of all files in a folder and its subfolders. The bytes of a file
/// with several hard links are divided among the links.
std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t sum = 0;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    if (entry->is_symlink(gone) || !entry->is_regular_file(gone)) continue;
    const std::uintmax_t names = entry->hard_link_count(gone);
    const std::uintmax_t bytes = entry->file_size(gone);
    if (!gone) sum += bytes / names;
  }
  return sum;
}

/// Marks a finished run as unfinished, because it is continued.
void reopen(const fs::path& folder) {
  RunRecord record = RunRecord::read(folder);
  if (!record.finished) return;
  record.finished = false;
  record.write(folder);
}

/// Throws if the free space is too small to begin or continue a run. The run needs `needed_bytes`
/// in total, and the bytes that earlier attempts wrote are already on the disk.
void require_space_to_go_on(const fs::path& folder, std::uint64_t needed_bytes) {
  require_free_space(folder, needed_bytes - std::min(needed_bytes, bytes_below(folder)));
}

void begin_attempt(const fs::path& folder, std::uint32_t attempt, const RunRequest& request,
                   int ranks) {
  const char* job = std::getenv("SLURM_JOB_ID");
  AttemptRecord record;
  record.attempt = attempt;
  record.host = host_name();
  record.pid = ::getpid();
  record.ranks = ranks;
  record.job_id = job == nullptr ? "" : job;
  record.begun = utc_now();
  record.command = request.command;
  make_folder(folder / "attempts");
  record.write(folder);
}

/// Points `link` to `target`, replacing an older link. Adds a note if that fails.
void point(const fs::path& link, const fs::path& target, std::vector<std::string>& notes) {
  std::error_code error;
  const fs::path fresh = link.string() + ".new" + std::to_string(::getpid());
  fs::create_directories(link.parent_path(), error);
  fs::create_symlink(target, fresh, error);
  if (!error) fs::rename(fresh, link, error);
  if (!error) return;
  notes.push_back("cannot make the link " + link.string() + ": " + error.message());
  fs::remove(fresh, error);
}

/// Returns whether a ledger in the folder `ledgers` may hold a chunk, which is the case if the file
/// is longer than its head. Also returns true if the folder cannot be read.
bool has_chunks(const fs::path& ledgers) noexcept {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(ledgers, error))
    if (entry.file_size(error) > kFileHeadBytes) return true;
  return static_cast<bool>(error);
}

/// Makes the link in runs_folder() through which TensorBoard finds the run, and returns the path of
/// the link. Makes no link and returns "" if the run directory is not directly in the folder
/// <output>/<name> of `request`.
fs::path link_curves(const fs::path& folder, const RunRequest& request,
                     std::vector<std::string>& notes) {
  if (folder.parent_path() != request.output / request.name) return {};
  const fs::path runs = fs::absolute(runs_folder(request.output));
  const fs::path link = runs / (request.name + "_" + folder.filename().string());
  point(link, (fs::absolute(folder) / "tb").lexically_relative(runs), notes);
  return link;
}

/// Removes a folder in which other ranks may still rename and remove their own files. Such a change
/// can end remove_all() early, so this function tries again for at most a second.
void remove_contested(const fs::path& folder) {
  std::error_code error;
  for (int attempt = 0; attempt < 100; ++attempt) {
    fs::remove_all(folder, error);
    if (!fs::exists(folder, error)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

RunDirectory::RunDirectory(const cluster::Group& group, const RunRequest& request) {
  const std::string facts = cluster::on_rank_0(group, [&] {
    Opened opened = open_or_make(request, notes_);
    const std::uint32_t attempt = last_attempt(opened.path) + 1;
    require_space_to_go_on(opened.path, request.needed_bytes);
    reopen(opened.path);
    begin_attempt(opened.path, attempt, request, group.size());
    tb_link_ = link_curves(opened.path, request, notes_);
    lock_.emplace(std::move(opened.lock));
    return formats::to_json_line(
        JsonValue::Members{{"path", opened.path.string()},
                           {"attempt", attempt},
                           {"notes", JsonValue::List(notes_.begin(), notes_.end())}});
  });
  const JsonValue json = formats::parse_json_object(facts);
  path_ = json.get<std::string>("path");
  attempt_ = json.get<std::uint32_t>("attempt");
  notes_ = json.get<std::vector<std::string>>("notes");
}

void RunDirectory::point_latest() {
  if (!lock_ || tb_link_.empty()) return;
  std::vector<std::string> ignored;
  point(path_.parent_path() / "latest", path_.filename(), ignored);
}

void RunDirectory::discard() noexcept {
  if (!lock_ || is_resumed() || has_chunks(path_ / "parts")) return;
  remove_contested(path_);
  std::error_code ignored;
  fs::remove(tb_link_, ignored);
  // remove() leaves folders that are not empty.
  for (const fs::path& folder :
       {tb_link_.parent_path(), path_.parent_path(), path_.parent_path().parent_path()})
    if (!folder.empty()) fs::remove(folder, ignored);
}

void RunDirectory::record_inputs(const cluster::Group& group,
                                 const std::map<std::string, std::string>& inputs) {
  cluster::on_rank_0(group, [&] {
    RunRecord record = RunRecord::read(path_);
    if (record.inputs == inputs) return;
    record.inputs = inputs;
    record.write(path_);
  });
}

void RunDirectory::resolve(const cluster::Group& group, const std::string& key,
                           const std::string& value) {
  cluster::on_rank_0(group, [&] {
    RunRecord record = RunRecord::read(path_);
    record.identity = with_value(std::move(record.identity), key, value);
    record.keys[key] = value;
    record.write(path_);
  });
}

std::string RunDirectory::resolved(const cluster::Group& group, const std::string& key) const {
  return cluster::on_rank_0(group, [&] {
    const RunRecord record = RunRecord::read(path_);
    const auto found = record.keys.find(key);
    return found == record.keys.end() || found->second == "auto" ? std::string() : found->second;
  });
}

void RunDirectory::check_current() const {
  if (lock_ && lock_->is_held() && last_attempt(path_) == attempt_) return;
  throw Failure({"E607",
                 ExitCode::in_use,
                 "another process has taken this run over: nothing is published from here",
                 {"  --> " + path_.string()},
                 ""});
}

void RunDirectory::finish(const cluster::Group& group, ExitCode exit) {
  cluster::on_rank_0(group, [&] {
    AttemptRecord attempt = AttemptRecord::read(path_, attempt_);
    attempt.ended = utc_now();
    attempt.exit = exit;
    attempt.write(path_);
    if (exit != ExitCode::done && exit != ExitCode::incomplete) return;
    RunRecord record = RunRecord::read(path_);
    record.finished = true;
    record.write(path_);
  });
}

void require_free_space(const std::filesystem::path& folder, std::uint64_t bytes) {
  std::error_code error;
  const fs::path existing = existing_folder(folder);
  const fs::space_info space = fs::space(existing, error);
  if (error || space.available >= bytes) return;
  // In /proc, and in a folder without write permission, the lack of space is not the real problem.
  // The caller then fails to create the folder, and that error tells the real reason.
  if (space.capacity == 0 || ::access(existing.c_str(), W_OK) != 0) return;
  throw Failure(
      {"E602",
       ExitCode::io,
       "there is too little space for the output",
       {"  --> " + folder.string(), "  needed " + std::to_string(bytes >> 20) + " MiB, free " +
                                        std::to_string(space.available >> 20) + " MiB"},
       "free some space, or choose another folder: --output DIR"});
}

}  // namespace mgpu::store
