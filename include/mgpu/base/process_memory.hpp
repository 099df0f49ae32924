#pragma once

#include <cstdint>

namespace mgpu {

/// Returns the peak resident memory of this process in bytes.
std::uint64_t host_peak_bytes();

/// Returns the bytes that this process may still allocate. This is what the kernel calls available
/// memory of the machine, but at most what the control groups of this process still permit (see
/// memory_limits()).
std::uint64_t host_free_bytes();

/// Grows the heap of the main thread by `bytes`, in huge pages where the system permits. From then
/// on the heap keeps freed memory, until malloc_trim(). Call it before work that allocates and
/// frees the same large blocks repeatedly. Otherwise the system would clear the blocks each time
/// and fault in their 4 KiB pages one by one.
///
/// Memory: the added heap becomes resident when it is first used, and then stays resident. So the
///         resident heap is its peak use plus the gaps between used blocks. With allocators other
///         than glibc's the function does nothing. Under a limit on address space (ulimit -v, -d),
///         or with vm.overcommit_memory=2, the heap keeps freed memory, but the function does not
///         grow it.
void keep_heap(std::uint64_t bytes);

}  // namespace mgpu
