#pragma once

#include <cstdint>

namespace mgpu {

/// Returns the peak resident memory of this process in bytes.
std::uint64_t host_peak_bytes();

/// Returns the bytes that processes of this machine may still allocate: the kernel's "available"
/// memory, within the limit of the control group.
std::uint64_t host_free_bytes();

/// Grows the heap of the main thread by `bytes`, in huge pages where the system permits, and keeps
/// memory that this thread frees until malloc_trim(). Use it for work that allocates and frees the
/// same large blocks repeatedly. The system would otherwise clear them each time and fault in pages
/// of 4 KiB one by one.
///
/// Memory: unused at first; later the peak in use, plus the gaps between used blocks. With
/// allocators other than glibc's it does nothing. Under a limit on address space (ulimit -v, -d) or
/// with vm.overcommit_memory=2 it keeps freed memory, but without huge pages.
void keep_heap(std::uint64_t bytes);

}  // namespace mgpu
