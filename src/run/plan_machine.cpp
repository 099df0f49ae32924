#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

#include <mgpu/base/machine.hpp>
#include <mgpu/run/plan_machine.hpp>

namespace mgpu::run {
namespace {

/// Returns word `word` (from 0) of a file as a number. Returns 0 for "max" and other texts, and if
/// there is no such file or word.
std::uint64_t number_in(const char* path, int word) {
  std::ifstream file(path);
  std::string text;
  for (int i = 0; i <= word; ++i)
    file >> text;
  return file ? std::strtoull(text.c_str(), nullptr, 10) : 0;
}

std::uint64_t page_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t host_memory() {
  const std::uint64_t installed =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
  const std::uint64_t limit = number_in("/sys/fs/cgroup/memory.max", 0);
  return limit == 0 ? installed : std::min(installed, limit);
}

}  // namespace

PlanMachine inspect_host(const std::filesystem::path& output) {
  PlanMachine machine;
  machine.name = host_name();
  machine.cores = static_cast<int>(std::thread::hardware_concurrency());
  machine.host_bytes = host_memory();
  machine.program_bytes = number_in("/proc/self/statm", 1) * page_bytes();
  machine.disk_bytes = free_bytes(output);
  return machine;
}

}  // namespace mgpu::run
