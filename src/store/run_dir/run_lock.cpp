#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/machine.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/run_dir/run_lock.hpp>

#include "host_facts.hpp"

namespace mgpu::store {
namespace {

using formats::JsonValue;

enum class Attempt { got, held, unsupported };

Attempt try_lock(int fd, const fs::path& path) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &lock) == 0) return Attempt::got;
  if (errno == EAGAIN || errno == EACCES) return Attempt::held;
  if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) {
    return Attempt::unsupported;
  }
  throw Failure({"E602",
                 ExitCode::io,
                 std::string("cannot lock the run directory: ") + std::strerror(errno),
                 {"  --> " + path.string()},
                 ""});
}

FdHandle open_lock(const fs::path& path) {
  FdHandle fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) {
    throw Failure({"E601",
                   ExitCode::cannot_create,
                   std::string("cannot create the lock: ") + std::strerror(errno),
                   {"  --> " + path.string()},
                   "choose another folder: --output DIR"});
  }
  return fd;
}

JsonValue own_lease() {
  std::random_device random;
  const char* job = std::getenv("SLURM_JOB_ID");
  return JsonValue::Members{{"boot_id", boot_id()},
                            {"host", host_name()},
                            {"job_id", job == nullptr ? "" : job},
                            {"nonce", std::to_string(random()) + std::to_string(random())},
                            {"pid", ::getpid()},
                            {"pid_start", process_start(::getpid())},
                            {"since", utc_now()}};
}

/// Returns the content of lease.json; nullopt if the file is missing or cannot be parsed.
std::optional<JsonValue> read_lease(const fs::path& folder) {
  const fs::path path = folder / "lease.json";
  std::error_code missing;
  if (!fs::is_regular_file(path, missing)) return std::nullopt;  // opening a pipe blocks
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  try {
    return formats::parse_json_object(text.str());
  } catch (const formats::JsonError&) {
    return std::nullopt;
  }
}

std::string text_of(const JsonValue& lease, const char* key) {
  const JsonValue* found = lease.find(key);
  if (found == nullptr) return "?";
  return found->text() != nullptr ? *found->text() : formats::to_json_line(*found);
}

/// Returns whether the process that the lease names still runs. Returns true for a process on
/// another host, because this host cannot check it.
bool is_alive(const JsonValue& lease) {
  if (text_of(lease, "host") != host_name()) return true;
  if (text_of(lease, "boot_id") != boot_id()) return false;
  const int pid = std::atoi(text_of(lease, "pid").c_str());
  const std::string start = process_start(pid);
  return !start.empty() && start == text_of(lease, "pid_start");
}

[[noreturn]] void fail_held(const fs::path& folder, const std::optional<JsonValue>& lease) {
  ErrorReport report{"E607",
                     ExitCode::in_use,
                     "another process works in this run directory",
                     {"  --> " + folder.string()},
                     "wait for it, stop it, or start a second run: --resume=never"};
  if (lease) {
    const std::string job = text_of(*lease, "job_id");
    report.lines.push_back("  held by process " + text_of(*lease, "pid") + " on " +
                           text_of(*lease, "host") + " since " + text_of(*lease, "since") +
                           (job.empty() ? "" : ", Slurm job " + job));
  }
  throw Failure(std::move(report));
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& run_directory, double wait_s)
    : folder_(run_directory), fd_(open_lock(run_directory / "LOCK")) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
  for (;;) {
    const Attempt attempt = try_lock(fd_.get(), folder_ / "LOCK");
    const std::optional<JsonValue> lease = read_lease(folder_);
    const bool free = attempt == Attempt::got ||
                      (attempt == Attempt::unsupported && (!lease || !is_alive(*lease)));
    if (free) break;
    if (std::chrono::steady_clock::now() >= deadline) fail_held(folder_, lease);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  lease_ = formats::to_json(own_lease());
  write_file_durably(folder_ / "lease.json", lease_, "lease");
}

RunLock::~RunLock() {
  std::error_code ignored;  // a later RunLock ignores a stale lease
  if (fd_ && is_held()) fs::remove(folder_ / "lease.json", ignored);
}

bool RunLock::is_held() const {
  std::ifstream file(folder_ / "lease.json");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str() == lease_;
}

}  // namespace mgpu::store
