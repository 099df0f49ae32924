#pragma once

#include <cstddef>
#include <cstdint>

#include <mgpu/base/random_streams.hpp>

struct CUstream_st;  // cudaStream_t is CUstream_st*; no CUDA header needed to call a kernel

// Shapes in this header: B = samples, L = lines of a sample, E = elements of a line.
namespace mgpu::kernels {

/// Where a dropout mask comes from: a function of (seed, site, sample, element) alone, so that
/// backward makes the same mask again and nobody stores it.
struct DropoutSite {
  std::uint64_t seed = 0;
  std::uint32_t site = 0;       // which dropout of the model, < 2^24
  std::uint32_t threshold = 0;  // probability of dropping in units of 1/65536; 0: keep all

  /// What a kept element is multiplied by.
  constexpr float scale() const { return 65536.0F / static_cast<float>(65536 - threshold); }
};

/// `probability` in [0, 1) rounded to a multiple of 1/65536.
///
/// Errors: Error outside [0, 1).
std::uint32_t dropout_threshold(double probability);

/// Elements in a run: 16 neighboring Philox blocks of eight 16-bit numbers. Half h of word w of
/// block i belongs to element 32 w + 16 h + i of the run, so 16 vector lanes can make 16 blocks
/// and use them without a shuffle.
inline constexpr std::uint64_t kDropoutRun = 128;

/// Whether the element stays: its 16 random bits are not below the threshold.
/// element < 2^35.
constexpr bool is_kept(const DropoutSite& site, std::uint64_t sample, std::uint64_t element) {
  const auto in_run = static_cast<std::uint32_t>(element % kDropoutRun);
  const auto block = static_cast<std::uint32_t>(element / kDropoutRun * 16 + in_run % 16);
  const RandomStream stream(site.seed, Purpose::dropout, site.site, sample);
  const std::uint32_t word = stream.block(block)[in_run / 32];
  return ((word >> (in_run / 16 % 2 * 16)) & 0xFFFF) >= site.threshold;
}

struct DropoutArgs {
  const float* x;               // [B, L, E]
  const float* residual;        // [B, L, E] added after the mask; nullptr: nothing
  const std::int64_t* samples;  // [B] which sample each row is: its ordinal in training
  float* out;                   // [B, L, E] written; may be x or residual
  std::size_t rows;             // B
  std::size_t lines;            // L
  std::size_t elements;         // E
  std::size_t pitch;            // element e of line l is number l * pitch + e of the sample, below
                                // 2^35; a multiple of kDropoutRun
  DropoutSite site;
};

/// out = residual + (kept ? x * scale : 0). Backward is the same call on the gradient, without
/// a residual.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: ShapeError for a pitch that is no multiple of kDropoutRun; cuda also LibraryError,
///         and NotBuiltError in a build without CUDA. cuda returns before the work is done.
/// Source: Srivastava et al., JMLR 15 (2014), in the inverted form.
namespace cpu {
void dropout(const DropoutArgs& args);
}
namespace cuda {
void dropout(const DropoutArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
