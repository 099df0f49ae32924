#pragma once

#include <cstddef>
#include <cstdint>

#include <mgpu/base/random_streams.hpp>

struct CUstream_st;  // cudaStream_t is CUstream_st*; no CUDA header needed to call a kernel

// Shapes in this header: B = samples, L = lines of a sample, E = elements of a line.
namespace mgpu::kernels {

inline constexpr Purpose kDropoutMasks{4};  // one stream for each site and training item

/// Determines a dropout mask as a function of (seed, site, sample, element) alone, so backward can
/// recompute the mask instead of storing it.
struct DropoutSite {
  std::uint64_t seed = 0;
  std::uint32_t site = 0;       // number of the dropout site in the model, < 2^24
  std::uint32_t threshold = 0;  // dropout probability in units of 1/65536; 0: no dropout

  /// Returns the factor by which kept elements are multiplied.
  constexpr float scale() const { return 65536.0F / static_cast<float>(65536 - threshold); }
};

/// Rounds `probability` in [0, 1) to a multiple of 1/65536.
///
/// Errors: Error outside [0, 1).
std::uint32_t dropout_threshold(double probability);

/// Number of elements in a run. A run of dropout numbers consists of 16 adjacent Philox blocks of
/// eight 16-bit numbers. Half h of word w of block i belongs to element 32 w + 16 h + i of the run.
/// So 16 vector lanes can compute 16 blocks and use them without a shuffle. An element is kept if
/// its number is not below the threshold.
inline constexpr std::uint64_t kDropoutRun = 128;

struct DropoutArgs {
  const float* x;               // [B, L, E]
  const float* residual;        // [B, L, E] added after the mask; nullptr: none
  const std::int64_t* samples;  // [B] sample of each row: its ordinal in training
  float* out;                   // [B, L, E] written; may be x or residual
  std::size_t rows;             // B
  std::size_t lines;            // L
  std::size_t elements;         // E
  std::size_t pitch;  // a multiple of kDropoutRun; element e of line l has number l * pitch + e in
                      // the sample, which is below 2^35
  DropoutSite site;
};

/// Computes out = residual + (kept ? x * scale : 0). For backward call it with the gradient and
/// without a residual.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: ShapeError when the pitch is not a multiple of kDropoutRun; cuda also LibraryError, and
///         NotBuiltError in a build without CUDA. cuda returns before the work is done.
/// Source: Srivastava et al., JMLR 15 (2014), inverted dropout.
namespace cpu {
void dropout(const DropoutArgs& args);
}
namespace cuda {
void dropout(const DropoutArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
