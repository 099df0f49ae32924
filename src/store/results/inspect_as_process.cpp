#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/store/results/file_inspection.hpp>

#include "file_walk.hpp"

namespace mgpu::store {
namespace {

void limit(int resource, rlim_t soft) {
  rlimit values{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &values) != 0) return;
  values.rlim_cur = std::min(soft, values.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource>(resource), &values);
}

std::uint64_t address_space_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// After each 64 MiB that are read, raises the limit on the CPU time of this process, and writes
/// kProgress to stdout as a sign of progress.
class Progress {
public:
  explicit Progress(std::uint64_t processor_s) : processor_s_(processor_s) { extend(); }

  void add(std::uint64_t bytes) {
    constexpr std::uint64_t kStepBytes = std::uint64_t{64} << 20;
    const std::uint64_t before = bytes_ / kStepBytes;
    bytes_ += bytes;
    if (bytes_ / kStepBytes == before) return;
    extend();
    (void)!::write(STDOUT_FILENO, &kProgress, 1);
  }

private:
  void extend() const {
    constexpr std::uint64_t kBytesPerSecond = 100'000'000;
    limit(RLIMIT_CPU, processor_s_ + bytes_ / kBytesPerSecond);
  }

  std::uint64_t processor_s_;
  std::uint64_t bytes_ = 0;
};

/// Writes the error code of a failure, a line feed and the failure's sentence to stdout. Returns
/// the exit code. A lack of memory becomes E604, because only damaged files need more than the
/// limit.
int write_failure(const std::exception& error, const InspectionLimits& limits) {
  ErrorReport report = report_of(error);
  if (report.exit == ExitCode::out_of_memory)
    report = {"E604",
              ExitCode::corrupt,
              "this file is damaged: the process that read it needed more than " +
                  std::to_string(limits.memory_bytes >> 20) + " MiB",
              {},
              ""};
  const std::string text = report.code + "\n" + report.sentence;
  (void)!::write(STDOUT_FILENO, text.data(), text.size());
  return static_cast<int>(report.exit);
}

}  // namespace

int inspect_file_as_process(const std::filesystem::path& path, const InspectionLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGXCPU, SIG_DFL);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_AS, address_space_bytes() + limits.memory_bytes);
  try {
    Progress progress(limits.processor_s);
    walk_file(path, [&](std::uint64_t bytes) { progress.add(bytes); });
    return 0;
  } catch (const std::exception& error) {
    return write_failure(error, limits);
  }
}

}  // namespace mgpu::store
