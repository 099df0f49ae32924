#include <sys/resource.h>

#include <mgpu/base/process_memory.hpp>

namespace mgpu {

std::uint64_t host_peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // ru_maxrss is in KiB
}

}  // namespace mgpu
