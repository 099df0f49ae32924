#pragma once

#include <array>
#include <chrono>
#include <limits>
#include <string_view>

#include <signal.h>

#include <mgpu/base/file_io.hpp>

namespace mgpu {

/// Why a run should save its state and end with exit code 75. The order only makes a maximum
/// over the ranks well defined.
enum class StopReason : int { none, time_limit, stop_file, usr1, usr2, interrupt, terminate };

/// "SIGUSR1", "the time limit", "the file STOP".
std::string_view name_of(StopReason reason);

/// Watches for a wish to stop: SIGUSR1, SIGUSR2, SIGTERM, SIGINT, a file, the time limit, and
/// Slurm's own limit (SLURM_JOB_END_TIME).
///
/// The handlers set one atomic, nothing else. A second signal ends the process at once by the
/// signal's default action; one within 0.2 s counts as the same wish
/// (mpirun and srun can both deliver it). One object at a time.
class SoftStop {
public:
  struct Options {
    fs::path stop_file{};  // removed by the poll that finds it; empty: none (give it to one rank)
    double time_limit_s = std::numeric_limits<double>::infinity();  // --time-limit
    double elapsed_s = 0.0;  // of the time limit, before this object
    double margin_s = 30.0;  // what finishing a step and saving may take; at most a tenth of what
                             // is left is set aside for it
  };

  /// Takes the handlers over. Errors: Error when there is another SoftStop.
  explicit SoftStop(const Options& options);
  SoftStop(const SoftStop&) = delete;
  SoftStop& operator=(const SoftStop&) = delete;
  ~SoftStop();

  /// The first reason so far; it stays. Local and cheap (the file is looked for once a second):
  /// call it each step and take the maximum over the ranks.
  StopReason poll();

  /// Until the soft stop of the time limit; infinity without one.
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

/// Whether a SoftStop of this process has received a signal. Any thread.
bool has_stop_signal() noexcept;

}  // namespace mgpu
