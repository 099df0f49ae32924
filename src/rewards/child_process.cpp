#include "child_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>

namespace mgpu::rewards {
namespace {

constexpr std::size_t kMostErrors = 1000;  // bytes at the end of standard error that are kept
// ask() fails if more bytes than this have been received without a complete answer.
constexpr std::size_t kMostOutput = std::size_t{64} << 20;
constexpr int kEndMilliseconds = 1000;  // time for the command to end before it is killed
constexpr int kTickMilliseconds = 200;  // longest time between two calls of mark_progress()

struct Pipe {
  int read = -1;
  int write = -1;

  Pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) == 0) {
      read = ends[0];
      write = ends[1];
    }
  }
};

void close_all(std::initializer_list<int> files) {
  for (const int file : files)
    if (file >= 0) ::close(file);
}

/// Starts `/bin/sh -c COMMAND` in a new process group. The descriptors `input`, `output` and
/// `words` become its standard input, output and error. Returns 0, or an error number (errno).
int spawn(std::string command, int input, int output, int words, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, words, STDERR_FILENO);
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &pipe);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string shell = "/bin/sh";
  std::string option = "-c";
  std::array<char*, 4> arguments = {shell.data(), option.data(), command.data(), nullptr};
  const int error =
      ::posix_spawn(&child, shell.c_str(), &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// Blocks SIGPIPE in this thread, so that a write to a closed pipe does not end the process. The
/// destructor discards a pending SIGPIPE before it unblocks the signal.
class SigpipeBlocked {
public:
  SigpipeBlocked() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~SigpipeBlocked() {
    const timespec now{};
    if (::sigismember(&before_, SIGPIPE) == 0)
      while (::sigtimedwait(&pipe_, nullptr, &now) > 0) {
      }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

private:
  sigset_t pipe_{};
  sigset_t before_{};
};

/// Reads the bytes that are ready at the descriptor `file`, at most 64 KiB, and appends them to
/// `text`. Returns false at the end of the file, or after an error other than EAGAIN and EINTR.
bool read_some(int file, std::string& text) {
  std::array<char, 65536> piece{};
  const ssize_t count = ::read(file, piece.data(), piece.size());
  if (count > 0) text.append(piece.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

ChildProcess::ChildProcess(std::string command) : command_(std::move(command)) {
  const Pipe to;
  const Pipe from;
  const Pipe errors;
  const bool has_pipes = std::min({to.read, from.read, errors.read}) >= 0;
  const int error = has_pipes ? spawn(command_, to.read, from.write, errors.write, child_) : EMFILE;
  close_all({to.read, from.write, errors.write});
  input_ = to.write;
  output_ = from.read;
  errors_ = errors.read;
  if (error != 0) {
    close_all({input_, output_, errors_});
    fail(std::string("cannot be started: ") + std::strerror(error));
  }
  for (const int file : {input_, output_, errors_})
    ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) | O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  close_all({input_});
  wait(kEndMilliseconds);
  ::kill(-child_, SIGKILL);  // before waitpid(), which frees the process id for reuse
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  close_all({output_, errors_});
}

bool ChildProcess::wait(int milliseconds) {
  constexpr int kStep = 10;
  for (int waited = 0; !ended_ && waited <= milliseconds; waited += kStep) {
    if (waited > 0) ::usleep(1000 * kStep);
    siginfo_t end{};
    const int error = ::waitid(P_PID, static_cast<id_t>(child_), &end, WEXITED | WNOHANG | WNOWAIT);
    if (error == 0 && end.si_pid != 0) ended_ = end;
  }
  return ended_.has_value();
}

void ChildProcess::fail(const std::string& what) const {
  ErrorReport report{"E551", ExitCode::data, "the reward command " + what, {}, ""};
  report.lines.push_back("  reward.command: " + printable(command_));
  if (!last_errors_.empty()) report.lines.push_back("  its last words: " + printable(last_errors_));
  report.help = R"(run it by hand: echo '{"row": 0, "prompt": "a", "completion": "b", )"
                R"("answer": "c"}' | )" +
                printable(command_);
  throw Failure(std::move(report));
}

std::string ChildProcess::how_it_ended() {
  if (!wait(kEndMilliseconds)) return "closed its output";
  const std::string status = std::to_string(ended_->si_status);
  return ended_->si_code == CLD_EXITED ? "ended with exit code " + status
                                       : "ended with signal " + status;
}

void ChildProcess::check_started() {
  constexpr std::chrono::milliseconds kFirst{300};
  const auto run = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin_);
  if (!wait(static_cast<int>(std::max(kFirst - run, std::chrono::milliseconds{0}).count()))) return;
  if (errors_ >= 0) read_errors();
  fail(how_it_ended() + " before it got any rows");
}

void ChildProcess::read_errors() {
  if (!read_some(errors_, last_errors_)) {
    ::close(errors_);
    errors_ = -1;
  }
  if (last_errors_.size() > kMostErrors) last_errors_.erase(0, last_errors_.size() - kMostErrors);
}

void ChildProcess::write_some(std::string_view& request) {
  const SigpipeBlocked blocked;
  const ssize_t count = ::write(input_, request.data(), request.size());
  if (count > 0) request.remove_prefix(static_cast<std::size_t>(count));
  // After an error, the rest of the request is not sent. ask() fails if no answer comes.
  if (count < 0 && errno != EAGAIN && errno != EINTR) request = {};
}

/// Waits until a pipe of the command is ready, but not beyond `deadline` and at most
/// kTickMilliseconds. Then reads from or writes to each pipe that is ready.
void ChildProcess::exchange(std::string_view& request, Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  std::array<pollfd, 3> files = {pollfd{output_, POLLIN, 0}, pollfd{errors_, POLLIN, 0},
                                 pollfd{request.empty() ? -1 : input_, POLLOUT, 0}};
  ::poll(files.data(), files.size(),
         static_cast<int>(std::clamp<long>(static_cast<long>(left), 0, kTickMilliseconds)));
  mark_progress();
  if (files[1].revents != 0) read_errors();
  if (files[2].revents != 0) write_some(request);
  if (files[0].revents != 0) is_silent_ = !read_some(output_, received_);
}

std::vector<std::string> ChildProcess::take_lines(std::size_t lines) {
  std::vector<std::string> taken;
  std::size_t begin = 0;
  while (taken.size() < lines) {
    const std::size_t end = received_.find('\n', begin);
    taken.push_back(received_.substr(begin, end - begin));
    begin = end + 1;
  }
  received_.erase(0, begin);
  return taken;
}

std::vector<std::string> ChildProcess::ask(std::string_view request, std::size_t lines,
                                           double timeout_s) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(timeout_s));
  const std::string rows = lines == 1 ? "1 row" : std::to_string(lines) + " rows";
  const auto there = [&] {
    return static_cast<std::size_t>(std::ranges::count(received_, '\n')) >= lines;
  };
  if (!received_.empty()) fail("wrote more lines than it read");
  while (!there()) {
    if (is_silent_) {
      if (errors_ >= 0) read_errors();
      fail(how_it_ended() + " before it had answered " + rows);
    }
    if (Clock::now() >= deadline) {
      ::kill(-child_, SIGKILL);
      fail("did not answer " + rows + " within reward.timeout; it has to flush each line");
    }
    if (received_.size() > kMostOutput) fail("wrote 64 MiB that are no answers");
    exchange(request, deadline);
  }
  return take_lines(lines);
}

}  // namespace mgpu::rewards
