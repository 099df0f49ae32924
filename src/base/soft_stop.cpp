#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/soft_stop.hpp>

namespace mgpu {
namespace {

constexpr std::array kStopSignals = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT};
constexpr std::int64_t kSameRequestUs = 200'000;
constexpr std::chrono::seconds kLookEvery{1};

// Time and number of the first signal, or 0 before a signal has arrived. The low byte is the number
// of the signal, and the upper bits are microseconds of the monotonic clock. Time and number share
// one word, so that a handler on another thread never sees the time without the number.
std::atomic<std::int64_t> first_signal{0};
std::atomic<bool> is_taken{false};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

int holders = 0;                                             // number of existing StopSignals
bool is_ignoring = false;                                    // StopSignals::ignore() was called
std::array<struct sigaction, kStopSignals.size()> before{};  // actions that ~StopSignals() restores

/// Creates the file MGPU_BEGUN, which tells launch/mgpu-run or slurm/multi_node.sbatch that this
/// process handles signals from now on.
void tell_launcher() {
  const char* path = std::getenv("MGPU_BEGUN");
  if (path == nullptr) return;
  const int file = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);
}

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kStopSignals)
    sigaddset(&set, signal);
  return set;
}

std::int64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

extern "C" void on_stop_signal(int signal) {
  const int saved_errno = errno;
  const std::int64_t now = now_us();
  std::int64_t first = 0;
  const bool is_first = first_signal.compare_exchange_strong(first, (now << 8) | signal);
  if (!is_first && now - (first >> 8) > kSameRequestUs) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(signal, &standard, nullptr);
    ::raise(signal);  // delivered when this handler returns
  }
  errno = saved_errno;
}

StopReason reason_of(int signal) {
  switch (signal) {
    case SIGUSR1:
      return StopReason::usr1;
    case SIGUSR2:
      return StopReason::usr2;
    case SIGINT:
      return StopReason::interrupt;
    default:
      return StopReason::terminate;
  }
}

/// Returns the seconds until Slurm ends the Slurm job; infinity outside Slurm, or if the end is
/// unknown.
double slurm_seconds_left() {
  const char* text = std::getenv("SLURM_JOB_END_TIME");
  std::int64_t end_time = 0;
  if (text == nullptr ||
      std::from_chars(text, text + std::strlen(text), end_time).ec != std::errc{}) {
    return std::numeric_limits<double>::infinity();
  }
  return static_cast<double>(end_time - std::int64_t{std::time(nullptr)});
}

}  // namespace

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::none:
      return "nothing";
    case StopReason::time_limit:
      return "the time limit";
    case StopReason::stop_file:
      return "the file STOP";
    case StopReason::usr1:
      return "SIGUSR1";
    case StopReason::usr2:
      return "SIGUSR2";
    case StopReason::interrupt:
      return "SIGINT";
    case StopReason::terminate:
      return "SIGTERM";
  }
  return "nothing";
}

StopSignals::StopSignals() {
  if (holders++ > 0) return;
  is_ignoring = false;
  first_signal = 0;
  struct sigaction action {};
  action.sa_handler = &on_stop_signal;
  action.sa_flags = SA_RESTART;
  action.sa_mask = stop_set();
  for (std::size_t i = 0; i < kStopSignals.size(); ++i)
    ::sigaction(kStopSignals[i], &action, &before[i]);
  pthread_sigmask(SIG_UNBLOCK, &action.sa_mask, nullptr);  // delivers pending signals
  tell_launcher();
}

StopSignals::~StopSignals() {
  if (--holders > 0 || is_ignoring) return;
  for (std::size_t i = 0; i < kStopSignals.size(); ++i)
    ::sigaction(kStopSignals[i], &before[i], nullptr);
}

void StopSignals::ignore() noexcept {
  is_ignoring = true;
  for (const int signal : kStopSignals)
    std::signal(signal, SIG_IGN);
}

int StopSignals::received() noexcept {
  return static_cast<int>(first_signal.load() & 0xff);
}

SoftStop::SoftStop(const Options& options) : stop_file_(options.stop_file) {
  // The wall clock is read only here, for Slurm's end time. So later jumps of the wall clock change
  // nothing.
  const double left_s = std::min(options.time_limit_s - options.elapsed_s, slurm_seconds_left());
  stop_after_s_ = left_s - std::clamp(left_s / 10, 0.0, options.margin_s);
  if (is_taken.exchange(true)) throw Error("there is a SoftStop already");
}

SoftStop::~SoftStop() {
  is_taken = false;
}

StopReason SoftStop::poll() {
  if (reason_ != StopReason::none) return reason_;
  if (const int signal = StopSignals::received(); signal != 0) {
    reason_ = reason_of(signal);
  } else if (seconds_left() <= 0) {
    reason_ = StopReason::time_limit;
  } else if (take_stop_file()) {
    reason_ = StopReason::stop_file;
  }
  return reason_;
}

double SoftStop::seconds_left() const {
  return stop_after_s_ - std::chrono::duration<double>(Clock::now() - birth_).count();
}

bool SoftStop::take_stop_file() {
  const Clock::time_point now = Clock::now();
  if (stop_file_.empty() || now - last_look_ < kLookEvery) return false;
  last_look_ = now;
  return ::unlink(stop_file_.c_str()) == 0;  // a file that stays would stop the next attempt
}

}  // namespace mgpu
