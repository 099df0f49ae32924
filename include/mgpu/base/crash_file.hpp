#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/file_io.hpp>

namespace mgpu {

/// Returns `text` with *** in place of parts that look like secrets (token=..., password: ...,
/// hf_...), and with ? in place of each control byte except line feeds. Of a line longer than 4,096
/// bytes, only the first 4,096 are kept, followed by "...".
std::string without_secrets(std::string_view text);

/// Writes crash/rank_NN.txt when this rank dies: the error or signal, the phase, the last events
/// and the stack. After one rank has died, mpirun or srun kills the others within seconds. This
/// leaves little time, so the constructor prepares everything in advance, and opens the file under
/// the name .rank_NN.tmp. The file is renamed after it has been written. In a signal handler, the
/// class writes the file without allocating memory.
///
/// The constructor installs a handler for SIGSEGV, SIGABRT, SIGBUS, SIGFPE and SIGILL. The handler
/// writes the death note (see write_own_death_note()) and the crash file, restores the signal's
/// previous action, and raises the signal again. Only one object may exist at a time. The crash
/// file contains no environment variables. In the error, the events and the versions, texts that
/// look like secrets are replaced by ***. The argument of write_in_handler() is written unchanged.
class CrashFile {
public:
  struct Options {
    fs::path directory;  // "<run directory>/crash", created if missing
    int world_rank = 0;
    int world_size = 1;      // number of ranks
    std::string versions{};  // versions of libraries, as lines; cut to 4,095 bytes
  };

  /// Prepares the file and installs the handler.
  /// Errors: Failure E601 when the file or the directory cannot be created; Error when another
  ///         CrashFile exists.
  explicit CrashFile(const Options& options);
  CrashFile(const CrashFile&) = delete;
  CrashFile& operator=(const CrashFile&) = delete;

  /// Removes the prepared file, and the directory when it is empty. Restores the previous signal
  /// actions.
  ~CrashFile();

  /// Sets the phase that the file names, for example "train, step 41000". Only the main thread may
  /// call it. At most 255 bytes are kept.
  void set_phase(std::string_view phase) noexcept;

  /// Remembers one line. The file gets the last 50 lines, each cut to 239 bytes. Any thread may
  /// call it.
  void add_event(std::string_view line);

  /// Writes the file for a caught exception: `what` is the rendered report. Only the first failure
  /// of the process is written. Any thread may call it.
  void write(std::string_view what) noexcept;

  /// Writes the crash file from a signal handler, with the stack of the calling thread; `what` is
  /// copied verbatim. Does nothing if no CrashFile exists or its file has been written. If another
  /// thread is writing the file, waits up to 0.5 s for that thread.
  static void write_in_handler(const char* what) noexcept;

  /// Returns whether this process has written its crash file.
  static bool is_written() noexcept;

  const fs::path& path() const { return path_; }

private:
  fs::path path_;
  fs::path prepared_;
};

/// The contents of one crash file, as far as it could be parsed.
struct CrashReport {
  fs::path path;
  double unix_time = 0.0;  // wall clock of the dying rank
  int rank = -1;
  std::string host;
  std::string pid;
  std::string phase;
  std::string what;  // report of an exception, "killed by SIGSEGV ...", or text of the watchdog
};

/// Returns the contents of the readable crash files in `directory` that were written at
/// `not_before` (Unix seconds) or later.
std::vector<CrashReport> crashes(const fs::path& directory, double not_before = 0.0);

}  // namespace mgpu
