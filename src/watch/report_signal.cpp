#include "report_signal.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>

#include <sys/syscall.h>
#include <unistd.h>

#include <mgpu/base/crash_file.hpp>

namespace mgpu::watch {
namespace {

constexpr int kFromFirst = 8;  // offset from SIGRTMIN; other libraries use the first signals
std::atomic<const char*> cause{nullptr};
struct sigaction before;

int report_signal() {
  return SIGRTMIN + kFromFirst;
}

extern "C" void on_report_signal(int /*signal*/) {
  const int saved_errno = errno;
  const char* what = cause.load();
  if (what != nullptr) CrashFile::write_in_handler(what);
  errno = saved_errno;
}

}  // namespace

void take_report_signal(const char* what) {
  cause = what;
  struct sigaction action {};
  action.sa_handler = &on_report_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(report_signal(), &action, &before);
}

void forget_report_signal() {
  ::sigaction(report_signal(), &before, nullptr);
  cause = nullptr;
}

void send_report_signal(int thread) {
  ::syscall(SYS_tgkill, ::getpid(), thread, report_signal());
}

}  // namespace mgpu::watch
