#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/file_io.hpp>

namespace mgpu {

/// `text` without what looks like a secret (token=..., password: ..., hf_...) and without control
/// bytes other than line ends.
std::string without_secrets(std::string_view text);

/// What a dying rank leaves behind: crash/rank_NN.txt with the error or the signal, the phase, the
/// last events and the stack. Peers of a dead rank have a second or less, so everything is ready
/// beforehand: the file is open (as .rank_NN.tmp, it gets its name when there is something in
/// it), and writing it takes system calls only.
///
/// Handles SIGSEGV, SIGABRT, SIGBUS, SIGFPE and SIGILL: writes, then lets the signal do what it
/// did before. One object at a time. No environment, no data and no secrets are written.
class CrashFile {
public:
  struct Options {
    fs::path directory;      // "<run directory>/crash", created
    int world_rank = 0;      //
    int world_size = 1;      //
    std::string versions{};  // any lines, written as they are
  };

  /// Errors: Failure E601.
  explicit CrashFile(const Options& options);
  CrashFile(const CrashFile&) = delete;
  CrashFile& operator=(const CrashFile&) = delete;

  /// Removes the prepared file, and the directory when it is empty.
  ~CrashFile();

  /// "train, step 41000". Main thread; at most 255 bytes are kept.
  void set_phase(std::string_view phase) noexcept;

  /// Remembers one line; the last 50 are written. Any thread; at most 239 bytes are kept.
  void add_event(std::string_view line);

  /// Writes the file for an error that was caught: `what` is the rendered report. Only the first
  /// failure of the process is written. Any thread.
  void write(std::string_view what) noexcept;

  /// The same from a signal handler, with the stack of the thread that it interrupted; `what` is
  /// written as it is. Nothing happens where there is no CrashFile.
  static void write_in_handler(const char* what) noexcept;

  /// Whether the file is there.
  static bool is_written() noexcept;

  const fs::path& path() const { return path_; }

private:
  fs::path path_;
  fs::path prepared_;
};

/// One crash file, as far as it can be read.
struct CrashReport {
  fs::path path;
  double unix_time = 0.0;  // wall clock of the dying rank
  int rank = -1;
  std::string host;
  std::string pid;
  std::string phase;
  std::string what;  // the report, or "killed by SIGSEGV ..."
};

/// The crash files of a directory with a time from `not_before` on (unix seconds).
std::vector<CrashReport> crashes(const fs::path& directory, double not_before = 0.0);

}  // namespace mgpu
