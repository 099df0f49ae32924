#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace mgpu {

/// A limit on memory that the kernel enforces on a control group (cgroup), such as a Slurm job.
struct MemoryLimit {
  std::uint64_t bytes = 0;
  /// Bytes that count toward the limit, without the inactive part of the page cache. The kernel
  /// drops that part when memory is needed.
  std::uint64_t used_bytes = 0;
};

/// Returns the limits of this process's control group and of all control groups above it. Reads
/// cgroup versions 1 and 2. A control group of version 2 without a limit is left out. A control
/// group of version 1 without a limit is included, with a limit of about 2^63 bytes.
///
/// `group_file` lists the control groups of the process, and `root` is where they are mounted.
/// Source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst
std::vector<MemoryLimit> memory_limits(
    const std::filesystem::path& group_file = "/proc/self/cgroup",
    const std::filesystem::path& root = "/sys/fs/cgroup");

}  // namespace mgpu
