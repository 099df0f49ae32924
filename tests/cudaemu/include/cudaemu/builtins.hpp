// Defines types, variables and keywords that device code has without an #include.
#pragma once

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct CUstream_st;
using cudaStream_t = CUstream_st*;

// The indices of the running thread.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __constant__
#define __launch_bounds__(...)
// One block runs at a time, so its shared variables may be static. They are in a separate section,
// which is filled with NaN before each block. AddressSanitizer watches only the usual sections, so
// a build with it leaves them there.
#if defined(__SANITIZE_ADDRESS__)
#define __shared__ static
#else
#define __shared__ static __attribute__((section("cudaemu_shared")))
#endif
