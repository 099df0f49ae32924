// Starts programs from a test and waits for them with a deadline.
#pragma once

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mgpu::store::test {

struct Ended {
  int exit = -1;  // exit code; 128 + n after signal n; -1 past the deadline (then killed)
  double seconds = 0;
};

/// A child in a separate session, so that a deadline ends all its processes.
class ChildProcess {
public:
  /// `environment`: entries "NAME=value", added to this process's environment. Output goes to
  /// `log`.
  ChildProcess(std::vector<std::string> words, const std::vector<std::string>& environment,
               const std::string& log)
      : begun_(std::chrono::steady_clock::now()) {
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setsid();
    for (const std::string& entry : environment) {
      const std::size_t equals = entry.find('=');
      ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
    }
    const int out = ::open(log.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ~ChildProcess() {
    if (pid_ > 0) wait(0);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  Ended wait(double deadline_s) {
    int status = 0;
    Ended ended;
    for (;;) {
      const pid_t done = ::waitpid(pid_, &status, WNOHANG);
      ended.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
      if (done == pid_) break;
      if (ended.seconds > deadline_s) {
        ::kill(-pid_, SIGKILL);
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return ended;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid_ = -1;
    ended.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
  }

private:
  pid_t pid_ = -1;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace mgpu::store::test
