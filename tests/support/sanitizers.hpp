#pragma once

namespace mgpu::testing_support {

/// True if the test is built with AddressSanitizer, which keeps freed memory and so makes measured
/// peaks of memory useless.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kKeepsFreedMemory = true;
#else
inline constexpr bool kKeepsFreedMemory = false;
#endif

}  // namespace mgpu::testing_support
