#pragma once

#include <cstdint>

namespace mgpu {

/// The largest resident memory that this process has had, in bytes.
std::uint64_t host_peak_bytes();

}  // namespace mgpu
