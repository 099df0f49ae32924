#pragma once

#include <cstddef>
#include <cstdint>

#include <mgpu/base/random_streams.hpp>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

// Shapes in this header: B = samples, L = lines of a sample (such as its tokens), E = elements of a
// line.
namespace mgpu::kernels {

/// The purpose of the random numbers of dropout. Each pair of site and sample has a separate stream
/// (RandomStream).
inline constexpr Purpose kDropoutMasks{4};

/// A place in the model where dropout is applied. Whether an element is kept depends only on (seed,
/// site, threshold, sample, element). So the backward pass can recompute the mask, and no mask is
/// stored.
struct DropoutSite {
  std::uint64_t seed = 0;
  std::uint32_t site = 0;       // number of this place in the model, < 2^24
  std::uint32_t threshold = 0;  // dropout probability in units of 1/65536; 0: no dropout

  /// Returns the factor by which kept elements are multiplied.
  constexpr float scale() const { return 65536.0F / static_cast<float>(65536 - threshold); }
};

/// Returns DropoutSite::threshold for a dropout probability: 65536 * `probability`, rounded, at
/// most 65535.
///
/// Errors: Error when `probability` is not in [0, 1).
std::uint32_t dropout_threshold(double probability);

/// The number of elements in a dropout run. A run is a group of consecutive elements of a sample
/// whose 16-bit random numbers come from 16 consecutive Philox blocks. Half h (0: the lower half)
/// of word w of block i is the random number of element 32 w + 16 h + i of the run. So SIMD vectors
/// of 16 lanes compute 16 blocks at once, without a shuffle. An element is kept if its random
/// number is not below DropoutSite::threshold.
inline constexpr std::uint64_t kDropoutRun = 128;

struct DropoutArgs {
  const float* x;               // [B, L, E]
  const float* residual;        // [B, L, E] added after the mask; nullptr: none
  const std::int64_t* samples;  // [B] index of each sample in the order of the whole training
  float* out;                   // [B, L, E] written; may be x or residual
  std::size_t rows;             // B
  std::size_t lines;            // L
  std::size_t elements;         // E
  std::size_t pitch;  // a multiple of kDropoutRun. Element e of line l has the number l * pitch + e
                      // in its sample. This number must be below 2^35.
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
