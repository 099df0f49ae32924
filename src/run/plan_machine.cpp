#include <algorithm>
#include <cstdint>
#include <fstream>
#include <thread>

#include <unistd.h>

#include <mgpu/base/machine.hpp>
#include <mgpu/base/memory_limits.hpp>
#include <mgpu/run/plan_machine.hpp>

namespace mgpu::run {
namespace {

std::uint64_t page_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Returns the memory of this process that is in RAM.
std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");  // pages of address space, then pages in RAM
  std::uint64_t reserved = 0;
  std::uint64_t resident = 0;
  return file >> reserved >> resident ? resident * page_bytes() : 0;
}

std::uint64_t host_memory() {
  std::uint64_t bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
  for (const MemoryLimit& limit : memory_limits())
    bytes = std::min(bytes, limit.bytes);
  return bytes;
}

}  // namespace

PlanMachine inspect_host(const std::filesystem::path& output) {
  PlanMachine machine;
  machine.name = host_name();
  machine.cores = static_cast<int>(std::thread::hardware_concurrency());
  machine.host_bytes = host_memory();
  machine.program_bytes = resident_bytes();
  machine.disk_bytes = free_bytes(output);
  return machine;
}

}  // namespace mgpu::run
