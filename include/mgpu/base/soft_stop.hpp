#pragma once

#include <chrono>
#include <limits>
#include <string_view>

#include <mgpu/base/file_io.hpp>

namespace mgpu {

/// Why a run should save its state and end with exit code 75. The order of the values has no
/// meaning; it only makes the maximum over the ranks well defined.
enum class StopReason : int { none, time_limit, stop_file, usr1, usr2, interrupt, terminate };

/// Returns the reason in words for messages, such as "SIGUSR1" or "the time limit".
std::string_view name_of(StopReason reason);

/// Handles the signals SIGUSR1, SIGUSR2, SIGTERM and SIGINT. The function main() creates one object
/// at its start, so that a signal before or after the work of a run does not kill the process.
/// Loading the libraries takes a while before main() begins. So the scripts in launch/ start the
/// program with these signals blocked, and a signal during that time stays pending.
///
/// The first signal requests a stop; its handler only sets one atomic. A second signal more than
/// 0.2 s later ends the process at once through the signal's default action. A signal within 0.2 s
/// counts as the same request, because mpirun and srun may each deliver the signal.
///
/// Objects may be nested: the first one installs the handlers, unblocks the signals, and creates
/// the file whose path is in the environment variable MGPU_BEGUN. The file tells the scripts in
/// launch/ that the process handles signals. The last destructor restores the previous handlers,
/// unless ignore() was called.
class StopSignals {
public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Ignores the four signals from now on. Call it when the results are published and the process
  /// is about to end with the exit code of the run.
  static void ignore() noexcept;

  /// Returns the number of the first signal that was received, or 0.
  static int received() noexcept;
};

/// Watches for requests to stop: SIGUSR1, SIGUSR2, SIGTERM, SIGINT, a file, the time limit, and
/// Slurm's own limit (SLURM_JOB_END_TIME).
///
/// Only one object may exist at a time. A signal also counts if StopSignals received it before this
/// object was made.
class SoftStop {
public:
  struct Options {
    /// A file whose existence requests a stop. The function poll() removes it. Only one rank of a
    /// run sets this path; "": no file.
    fs::path stop_file{};
    double time_limit_s = std::numeric_limits<double>::infinity();  // --time-limit
    double elapsed_s = 0.0;  // seconds of the time limit that had passed at construction
    /// Seconds that are reserved to finish a step and to save: the run stops this long before the
    /// limit. If a tenth of the time left at construction is shorter, that tenth is used instead.
    double margin_s = 30.0;
  };

  /// Errors: Error when another SoftStop exists.
  explicit SoftStop(const Options& options);
  SoftStop(const SoftStop&) = delete;
  SoftStop& operator=(const SoftStop&) = delete;
  ~SoftStop();

  /// Returns `none` until there is a reason to stop, and from then on always the first reason. Any
  /// rank may call it alone. A call is cheap, and looks for Options::stop_file at most once a
  /// second. Call it at each step, and take the maximum of the reasons over the ranks.
  StopReason poll();

  /// Returns the seconds until poll() returns StopReason::time_limit, negative after that; infinity
  /// without a limit.
  double seconds_left() const;

private:
  using Clock = std::chrono::steady_clock;

  bool take_stop_file();

  StopSignals signals_;
  fs::path stop_file_;
  Clock::time_point birth_ = Clock::now();
  Clock::time_point last_look_{};
  double stop_after_s_;
  StopReason reason_ = StopReason::none;
};

}  // namespace mgpu
