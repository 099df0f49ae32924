#pragma once

#include <cstdint>

namespace mgpu {

/// The largest resident memory that this process has had, in bytes.
std::uint64_t host_peak_bytes();

/// Memory of this machine that processes may still take: what the kernel calls available, within
/// the limit of the control group.
std::uint64_t host_free_bytes();

/// Grows the heap by room for `bytes` in huge pages, where the system lets a process ask for them,
/// and keeps in the heap what is freed from now on. For work that takes and frees the same large
/// blocks again and again: the system would hand them out cleared each time, in pages of 4 KiB
/// that take as long to be looked up as the block does to be read.
///
/// Memory: none before it is used, then the most that was in use at once.
/// Does nothing with another C library than glibc; keeps only, without huge pages, where the system
/// promises no more memory than it has (vm.overcommit_memory=2) or refuses that much at once.
void keep_heap(std::uint64_t bytes);

}  // namespace mgpu
