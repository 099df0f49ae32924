#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>

#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <mgpu/base/crash_file.hpp>
#include <mgpu/base/death_note.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/machine.hpp>
#include <mgpu/base/safe_text.hpp>

namespace mgpu {
namespace {

constexpr std::array kFatalSignals = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
constexpr std::size_t kMaxEvents = 50;
constexpr std::size_t kMaxFrames = 64;

/// The data that is needed to write a crash file. Everything is in static memory, because a signal
/// handler must not allocate.
struct Prepared {
  int fd = -1;
  char header[4096] = {};  // "rank: 3 of 8" and so on
  std::size_t header_bytes = 0;
  char versions[4096] = {};
  char from[4096] = {};  // path that ends in .rank_03.tmp
  char to[4096] = {};    // path that ends in rank_03.txt
  SafeText<256> phase;
  SafeText<240> events[kMaxEvents];
  std::atomic<std::size_t> num_events{0};
  std::mutex events_mutex;
  std::atomic<bool> is_claimed{false};
  std::atomic<bool> is_written{false};
  std::array<struct sigaction, kFatalSignals.size()> before{};
};
Prepared prepared;
std::atomic<bool> is_taken{false};
alignas(16) char signal_stack[64 << 10];  // a handler for stack overflow needs a separate stack

void put(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = ::write(prepared.fd, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// Writes a decimal number with at least `width` digits. It replaces snprintf, which is not
/// async-signal-safe.
void put_number(std::uint64_t value, int width = 1) noexcept {
  char digits[24];
  char* start = digits + sizeof digits;
  for (; value > 0 || width > 0; value /= 10, --width)
    *--start = static_cast<char>('0' + value % 10);
  put({start, static_cast<std::size_t>(digits + sizeof digits - start)});
}

void put_time() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  put("time: ");
  put_number(static_cast<std::uint64_t>(now.tv_sec));
  put(".");
  put_number(static_cast<std::uint64_t>(now.tv_nsec), 9);
  put("\n");
}

void put_events() noexcept {
  const std::size_t count = prepared.num_events.load();
  for (std::size_t i = count - std::min(count, kMaxEvents); i < count; ++i) {
    put(prepared.events[i % kMaxEvents].get());
    put("\n");
  }
}

/// Writes the whole crash file; `put_what` writes the cause of death. Async-signal-safe.
template <class PutWhat>
void write_once(PutWhat put_what) noexcept {
  if (prepared.is_claimed.exchange(true)) {
    // The file is written already, or another thread is writing it. Wait up to 0.5 s until the file
    // is complete, because the process may end as soon as this function returns.
    const timespec pause{0, 10'000'000};
    for (int i = 0; i < 50 && !prepared.is_written.load(); ++i)
      nanosleep(&pause, nullptr);
    return;
  }
  put({prepared.header, prepared.header_bytes});
  put_time();
  put("phase: ");
  put(prepared.phase.get());
  put("\n--- what\n");
  put_what();
  put("\n--- stack\n");
  void* frames[kMaxFrames];
  const int depth = backtrace(frames, kMaxFrames);
  backtrace_symbols_fd(frames, depth, prepared.fd);
  put("--- last events\n");
  put_events();
  put("--- versions\n");
  put(prepared.versions);
  ::rename(prepared.from, prepared.to);
  prepared.is_written = true;
}

const char* described(int signal) noexcept {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV (invalid memory reference)";
    case SIGABRT:
      return "SIGABRT (abort)";
    case SIGBUS:
      return "SIGBUS (bad memory access: a mapped file was cut off, or memory failed)";
    case SIGFPE:
      return "SIGFPE (invalid arithmetic)";
    default:
      return "SIGILL (illegal instruction)";
  }
}

extern "C" void on_fatal_signal(int signal) {
  write_own_death_note(signal);
  write_once([signal]() noexcept {
    put("killed by ");
    put(described(signal));
  });
  for (std::size_t i = 0; i < kFatalSignals.size(); ++i) {
    if (kFatalSignals[i] == signal) ::sigaction(signal, &prepared.before[i], nullptr);
  }
  ::raise(signal);  // delivered when this handler returns
}

template <std::size_t kBytes>
void copy_to(char (&target)[kBytes], std::string_view text) {
  const std::size_t length = std::min(text.size(), kBytes - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

std::string header_of(const CrashFile::Options& options) {
  return "mgpu_spmd crash file 1\nhost: " + host_name() + "\npid: " + std::to_string(::getpid()) +
         "\nrank: " + std::to_string(options.world_rank) + " of " +
         std::to_string(options.world_size) + "\n";
}

std::string file_name(int rank) {
  char text[32];
  std::snprintf(text, sizeof text, "rank_%02d", rank);
  return text;
}

void install_handlers() {
  stack_t stack{};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof signal_stack;
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = &on_fatal_signal;
  action.sa_flags = SA_ONSTACK;
  for (std::size_t i = 0; i < kFatalSignals.size(); ++i)
    ::sigaction(kFatalSignals[i], &action, &prepared.before[i]);
}

}  // namespace

CrashFile::CrashFile(const Options& options)
    : path_(options.directory / (file_name(options.world_rank) + ".txt")),
      prepared_(options.directory / ("." + file_name(options.world_rank) + ".tmp")) {
  if (is_taken.exchange(true)) throw Error("there is a CrashFile already");
  std::error_code error;
  fs::create_directories(options.directory, error);
  prepared.fd = ::open(prepared_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
  if (prepared.fd < 0) {
    const int code = errno;
    is_taken = false;
    throw Failure({"E601",
                   ExitCode::cannot_create,
                   std::string("cannot create the crash file: ") + std::strerror(code),
                   {"  --> " + prepared_.string()},
                   "choose another folder: --output DIR"});
  }
  // Reserves space in case the disk fills up later. On file systems without fallocate, the call has
  // no effect.
  ::fallocate(prepared.fd, FALLOC_FL_KEEP_SIZE, 0, 64 << 10);
  const std::string header = header_of(options);
  copy_to(prepared.header, header);
  prepared.header_bytes = std::min(header.size(), sizeof prepared.header - 1);
  copy_to(prepared.versions, without_secrets(options.versions) + "\n");
  copy_to(prepared.from, prepared_.string());
  copy_to(prepared.to, path_.string());
  prepared.phase.set("start");
  prepared.num_events = 0;
  prepared.is_claimed = false;
  prepared.is_written = false;
  void* frame[1];
  backtrace(frame, 1);  // loads libgcc now, because the first call allocates
  install_handlers();
}

CrashFile::~CrashFile() {
  for (std::size_t i = 0; i < kFatalSignals.size(); ++i)
    ::sigaction(kFatalSignals[i], &prepared.before[i], nullptr);
  ::close(prepared.fd);
  prepared.fd = -1;
  std::error_code ignored;
  fs::remove(prepared_, ignored);
  ::rmdir(path_.parent_path().c_str());  // fails while files of other ranks exist
  is_taken = false;
}

void CrashFile::set_phase(std::string_view phase) noexcept {
  prepared.phase.set(phase);
}

void CrashFile::add_event(std::string_view line) {
  const std::string clean = without_secrets(line);
  const std::lock_guard lock(prepared.events_mutex);
  const std::size_t count = prepared.num_events.load();
  prepared.events[count % kMaxEvents].set(clean);
  prepared.num_events = count + 1;
}

void CrashFile::write(std::string_view what) noexcept {
  try {
    const std::string clean = without_secrets(what);
    write_once([&clean]() noexcept { put(clean); });
  } catch (...) {
    write_once([]() noexcept { put("out of memory while a failure was reported"); });
  }
}

void CrashFile::write_in_handler(const char* what) noexcept {
  if (is_taken) write_once([what]() noexcept { put(what); });
}

bool CrashFile::is_written() noexcept {
  return prepared.is_written;
}

}  // namespace mgpu
