#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace mgpu::rewards {

/// A shell command that reads lines and answers with lines. Its processes form a process group. The
/// destructor closes the standard input of the command, waits at most a second for the command to
/// end, and then kills the group.
class ChildProcess {
public:
  /// Starts `/bin/sh -c COMMAND`. Errors: Failure E551 if no process can be started.
  explicit ChildProcess(std::string command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Waits until the command has run for 0.3 s, so that a misspelt command is found before any
  /// work. Errors: Failure E551 if the command has ended.
  void check_started();

  /// Writes `request` to the command. Returns the next `lines` lines that the command writes,
  /// without line ends.
  /// Errors: Failure E551 in these cases:
  ///         - the command ends or closes its output before it has written the lines
  ///         - the command has already written output that belongs to no earlier request
  ///         - the command writes more than 64 MiB without completing the lines
  ///         - the command has not completed the lines after `timeout_s` seconds
  std::vector<std::string> ask(std::string_view request, std::size_t lines, double timeout_s);

  /// Throws Failure E551. `what` is the phrase of the report about what the command did wrong. The
  /// report also contains the command, its last output on standard error, and a shell line to try
  /// the command by hand.
  [[noreturn]] void fail(const std::string& what) const;

private:
  using Clock = std::chrono::steady_clock;

  void exchange(std::string_view& request, Clock::time_point deadline);
  void write_some(std::string_view& request);
  void read_errors();
  std::vector<std::string> take_lines(std::size_t lines);
  std::string how_it_ended();
  bool wait(int milliseconds);

  std::string command_;
  Clock::time_point begin_ = Clock::now();
  pid_t child_ = -1;
  std::optional<siginfo_t> ended_{};  // how the command ended; nullopt: it may still run
  bool is_silent_ = false;            // the command has closed its standard output
  int input_ = -1;
  int output_ = -1;
  int errors_ = -1;            // standard error of the command
  std::string received_{};     // output that take_lines() has not returned yet
  std::string last_errors_{};  // last bytes of standard error
};

}  // namespace mgpu::rewards
