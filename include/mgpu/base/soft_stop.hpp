#pragma once

#include <array>
#include <chrono>
#include <limits>
#include <string_view>

#include <signal.h>

#include <mgpu/base/file_io.hpp>

namespace mgpu {

/// Why a run should save its state and end with exit code 75. The order of the values has no
/// meaning; it only makes the maximum over the ranks well defined.
enum class StopReason : int { none, time_limit, stop_file, usr1, usr2, interrupt, terminate };

/// Returns "SIGUSR1", "the time limit", "the file STOP".
std::string_view name_of(StopReason reason);

/// Watches for requests to stop: SIGUSR1, SIGUSR2, SIGTERM, SIGINT, a file, the time limit, and
/// Slurm's own limit (SLURM_JOB_END_TIME).
///
/// The first signal requests a stop; its handler only sets one atomic. A second signal ends the
/// process at once through the signal's default action. A signal within 0.2 s of the first counts
/// as the same request, since mpirun and srun can both deliver it. Only one object may exist at a
/// time.
class SoftStop {
public:
  struct Options {
    fs::path stop_file{};  // removed by the poll() that finds it; set on one rank, else empty
    double time_limit_s = std::numeric_limits<double>::infinity();  // --time-limit
    double elapsed_s = 0.0;  // part of the time limit used before this object existed
    double margin_s = 30.0;  // time to finish a step and save; at most a tenth of the remaining
                             // time is set aside for it
  };

  /// Installs the handlers. Errors: Error when another SoftStop exists.
  explicit SoftStop(const Options& options);
  SoftStop(const SoftStop&) = delete;
  SoftStop& operator=(const SoftStop&) = delete;
  ~SoftStop();

  /// Returns the first reason to stop that was found, and the same one from then on; `none` before.
  /// Local and cheap (the file is looked up once a second): call it each step and take the maximum
  /// over the ranks.
  StopReason poll();

  /// Returns the seconds until the time limit's soft stop; infinity without a limit.
  double seconds_left() const;

private:
  using Clock = std::chrono::steady_clock;

  bool take_stop_file();

  fs::path stop_file_;
  Clock::time_point birth_ = Clock::now();
  Clock::time_point last_look_{};
  double stop_after_s_;
  StopReason reason_ = StopReason::none;
  std::array<struct sigaction, 4> before_{};
};

/// Returns whether a SoftStop of this process has received a signal. Any thread.
bool has_stop_signal() noexcept;

}  // namespace mgpu
