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
#include <mgpu/store/run_dir/attempt_record.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

#include "free_space.hpp"
#include "host_facts.hpp"
#include "open_run.hpp"
#include "run_record.hpp"
#include "store/journal/ledger_file.hpp"

namespace mgpu::store {
namespace {

using formats::JsonValue;

/// Marks a finished run as unfinished, because it is continued.
void reopen(const fs::path& folder) {
  RunRecord record = RunRecord::read(folder);
  if (!record.finished) return;
  record.finished = false;
  record.write(folder);
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
  const fs::path place = fs::weakly_canonical(request.output / request.name);
  if (fs::weakly_canonical(folder.parent_path()) != place) return {};
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
    OpenedRun opened = open_or_make(request, notes_);
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
  // The function remove() leaves folders that are not empty.
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
    record.identity = with_resolved_key(std::move(record.identity), key, value);
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

}  // namespace mgpu::store
