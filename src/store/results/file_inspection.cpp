#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/store/results/file_inspection.hpp>

#include "file_walk.hpp"
#include "stored_column.hpp"

namespace mgpu::store {
namespace {

/// One version of a file: device, inode, size in bytes, and modification time (s, ns).
using FileVersion = std::tuple<dev_t, ino_t, off_t, std::time_t, long>;

struct Inspections {
  std::mutex mutex;
  std::vector<std::string> command;
  std::set<FileVersion> sound;
};

Inspections& inspections() {
  static Inspections all;
  return all;
}

FileVersion version_of(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) fail_missing();
  return {info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

[[noreturn]] void fail_inspection(const std::string& how) {
  throw Failure(
      {"E604", ExitCode::corrupt, "this file is damaged: the process that read it " + how, {}, ""});
}

[[noreturn]] void fail_spawn(int error) {
  throw Failure(
      {"E301",
       ExitCode::out_of_memory,
       std::string("no process can be started to inspect a file: ") + std::strerror(error),
       {},
       "ulimit -u and ulimit -n show the limits for processes and open files"});
}

struct SpawnSettings {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  /// Makes the child write its stdout to `output`, and discards its stderr. The child blocks
  /// signals such as SIGTERM that ask the program to end, because only the parent handles them.
  explicit SpawnSettings(int output) {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawnattr_init(&attributes);
    sigset_t blocked;
    ::sigemptyset(&blocked);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})
      ::sigaddset(&blocked, signal);
    ::posix_spawnattr_setsigmask(&attributes, &blocked);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
};

/// A child process that inspects a file. This process reads the child's output through a pipe.
class Inspector {
public:
  Inspector(std::vector<std::string> command, const std::filesystem::path& path) {
    command.push_back(path.string());
    std::vector<char*> words;
    for (std::string& word : command)
      words.push_back(word.data());
    words.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail_spawn(errno);
    const SpawnSettings settings(ends[1]);
    const int error = ::posix_spawn(&child_, words[0], &settings.actions, &settings.attributes,
                                    words.data(), environ);
    ::close(ends[1]);
    output_ = ends[0];
    if (error != 0) {
      ::close(output_);
      fail_spawn(error);
    }
  }
  ~Inspector() { ::close(output_); }
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  /// Reads the output of the child to its end. Returns the output without the bytes kProgress, and
  /// calls mark_progress() for each piece of output.
  std::string read_output() const {
    std::string text;
    char piece[4096];
    for (;;) {
      const ssize_t n = ::read(output_, piece, sizeof piece);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      mark_progress();
      for (const char c : std::string_view(piece, static_cast<std::size_t>(n)))
        if (c != kProgress) text += c;
    }
    return text;
  }

  /// Waits for the end of the child, and returns its status in the form of waitpid().
  int wait() const {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0)
      if (errno != EINTR) fail_inspection("ended without a status");
    return status;
  }

private:
  pid_t child_ = 0;
  int output_ = -1;
};

/// Throws the failure that inspect_file_as_process() has written as `text`: an error code, a line
/// feed and a sentence.
[[noreturn]] void throw_written(const std::string& text, ExitCode exit) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  if (end == text.size()) fail_inspection("ended without a result");
  throw Failure({text.substr(0, end), exit, text.substr(end + 1), {}, ""});
}

void inspect_in_process(const std::vector<std::string>& command,
                        const std::filesystem::path& path) {
  const Inspector inspector(command, path);
  const std::string text = inspector.read_output();
  const int status = inspector.wait();
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) fail_inspection("did not come to an end");
  if (WIFSIGNALED(status)) fail_inspection("ended with signal " + std::to_string(WTERMSIG(status)));
  if (const int code = WEXITSTATUS(status); code != 0)
    throw_written(text, static_cast<ExitCode>(code));
}

}  // namespace

void set_inspector(std::vector<std::string> command) {
  const std::lock_guard lock(inspections().mutex);
  inspections().command = std::move(command);
}

void require_inspected(const std::filesystem::path& path) {
  Inspections& all = inspections();
  const std::lock_guard lock(all.mutex);
  const FileVersion version = version_of(path);
  if (all.sound.contains(version)) return;
  if (all.command.empty()) {
    walk_file(path, {});
  } else {
    inspect_in_process(all.command, path);
  }
  all.sound.insert(version);
}

void require_sound(const std::filesystem::path& path) {
  name_failures(path, "/", [&] { require_inspected(path); });
}

void require_inspected(const cluster::Group& group, const std::filesystem::path& path) {
  cluster::on_rank_0(group, [&] { require_sound(path); });
  cluster::run_together(group, [&] { note_own_file(path); });
}

void note_own_file(const std::filesystem::path& path) {
  const std::lock_guard lock(inspections().mutex);
  inspections().sound.insert(version_of(path));
}

}  // namespace mgpu::store
