#pragma once

#include <cstddef>
#include <cstdint>

#include <mgpu/base/random_streams.hpp>

struct CUstream_st;  // cudaStream_t is CUstream_st*; no CUDA header needed to call a kernel

// Shapes in this header: B = samples, L = lines of a sample, E = elements of a line.
namespace mgpu::kernels {

/// Random streams of dropout: one for each site and sample.
inline constexpr Purpose kDropoutMasks{4};

/// A place in the model where dropout is applied. A mask depends only on (seed, site, sample,
/// element), so the backward pass recomputes it instead of storing it.
struct DropoutSite {
  std::uint64_t seed = 0;
  std::uint32_t site = 0;       // number of this place in the model, < 2^24
  std::uint32_t threshold = 0;  // dropout probability in units of 1/65536; 0: no dropout

  /// Returns the factor by which kept elements are multiplied.
  constexpr float scale() const { return 65536.0F / static_cast<float>(65536 - threshold); }
};

/// Returns DropoutSite::threshold for a dropout probability: `probability` in units of 1/65536,
/// rounded.
///
/// Errors: Error when `probability` is not in [0, 1).
std::uint32_t dropout_threshold(double probability);

/// Number of elements in a run: consecutive elements of a sample whose 16-bit random numbers come
/// from 16 consecutive Philox blocks. Half h of word w of block i is the random number of element
/// 32 w + 16 h + i. So vectors of 16 elements compute 16 blocks at once, without a shuffle. An
/// element is kept if its random number is not below DropoutSite::threshold.
inline constexpr std::uint64_t kDropoutRun = 128;

struct DropoutArgs {
  const float* x;               // [B, L, E]
  const float* residual;        // [B, L, E] added after the mask; nullptr: none
  const std::int64_t* samples;  // [B] index of each row in the whole training
  float* out;                   // [B, L, E] written; may be x or residual
  std::size_t rows;             // B
  std::size_t lines;            // L
  std::size_t elements;         // E
  std::size_t pitch;  // a multiple of kDropoutRun: element e of line l has the random number
                      // of element l * pitch + e < 2^35 of its sample
  DropoutSite site;
};

/// Computes out = residual + (kept ? x * site.scale() : 0). The backward pass is the same call with
/// the gradient as x and without a residual.
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
