#pragma once

#include <cstdint>

namespace mgpu {

/// The largest resident memory that this process has had, in bytes.
std::uint64_t host_peak_bytes();

/// Memory of this machine that processes may still take: what the kernel calls available, within
/// the limit of the control group.
std::uint64_t host_free_bytes();

}  // namespace mgpu
