#pragma once

#include <cstdint>

namespace mgpu {

/// The largest resident memory that this process has had, in bytes.
std::uint64_t host_peak_bytes();

/// Memory of this machine that processes may still take: what the kernel calls available, within
/// the limit of the control group.
std::uint64_t host_free_bytes();

/// Grows the heap of the main thread by room for `bytes` in huge pages, where the system lets a
/// process ask for them, and keeps there what this thread frees, until malloc_trim(). For work that
/// takes and frees the same large blocks again and again: the system would hand them out cleared
/// each time, in pages of 4 KiB of which each has to be looked up.
///
/// Memory: none before it is used, then the most that was in use at once, and what lies between
///         blocks that are in use.
/// Does nothing with another allocator than glibc's; keeps only, without huge pages, where address
/// space is counted: under a limit (ulimit -v, -d) or with vm.overcommit_memory=2.
void keep_heap(std::uint64_t bytes);

}  // namespace mgpu
