#include <algorithm>
#include <cstdlib>
#include <string>

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <mgpu/base/memory_limits.hpp>
#include <mgpu/base/process_memory.hpp>

#include "number_in_file.hpp"

namespace mgpu {
namespace {

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MGPU_GLIBC_HEAP 1

/// Returns whether reserving address space takes nothing from other allocations. This is the case
/// if both conditions hold:
/// - The process has no limit on its address space and no limit on its data.
/// - vm.overcommit_memory is not 2.
bool address_space_is_free() {
  constexpr std::uint64_t kNeverTooMuch = 2;
  if (number_in_file("/proc/sys/vm/overcommit_memory") == kNeverTooMuch) return false;
  const auto is_free = [](auto resource) {
    rlimit limit{};
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
  };
  return is_free(RLIMIT_AS) && is_free(RLIMIT_DATA);
}

void grow_heap(std::size_t bytes) {
  constexpr std::uintptr_t kHugePage = std::uintptr_t{2} << 20;
  void* room = std::malloc(bytes);
  if (room == nullptr) return;
  const auto address = reinterpret_cast<std::uintptr_t>(room);
  const std::uintptr_t first = (address + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t end = (address + bytes) / kHugePage * kHugePage;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  std::free(room);
}
#endif

}  // namespace

std::uint64_t host_peak_bytes() {
  if (const auto peak = number_in_file("/proc/self/status", "VmHWM:")) return *peak * 1024;
  // Without /proc, getrusage() gives the peak. The value may be too high, because a process started
  // by vfork inherits the peak of its parent.
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // ru_maxrss is in KiB
}

std::uint64_t host_free_bytes() {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES));
  std::uint64_t free = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (const auto available = number_in_file("/proc/meminfo", "MemAvailable:"))
    free = *available * 1024;
  for (const MemoryLimit& limit : memory_limits())
    free = std::min(free, limit.bytes - std::min(limit.bytes, limit.used_bytes));
  return free;
}

void keep_heap([[maybe_unused]] std::uint64_t bytes) {
#ifdef MGPU_GLIBC_HEAP
  ::mallopt(M_MMAP_MAX, 0);         // take large blocks from the heap too
  ::mallopt(M_TRIM_THRESHOLD, -1);  // never return the end of the heap to the system
  if (address_space_is_free()) grow_heap(bytes);
#endif
}

}  // namespace mgpu
