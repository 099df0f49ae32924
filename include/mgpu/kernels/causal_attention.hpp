#pragma once

#include <cstddef>
#include <cstdint>

#include <mgpu/kernels/dropout.hpp>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

// Shapes in this header: B = samples, T = tokens, H = heads, C = width of a head.
namespace mgpu::kernels {

inline constexpr std::size_t kMaxHeadDim = 64;

/// Each attention probability of a sample has a number, which selects its random number for
/// dropout. The probability of key k for query q in head h has the number (q * H + h) *
/// kAttentionPitch + k. No sequence is longer than kAttentionPitch, so the numbers do not depend on
/// the sequence length.
inline constexpr std::size_t kAttentionPitch = 1 << 14;

struct CausalAttentionArgs {
  const float* qkv;             // [B, T, 3, H, C] queries, keys, values
  const std::int64_t* samples;  // [B] index of each sample in the order of the whole training,
                                // which selects the dropout mask; nullptr without dropout
  float* out;                   // [B, T, H, C] written
  float* log_sums;              // [B, H, T] written: log of the sum of exp(score)
  std::size_t rows;             // B
  std::size_t tokens;           // T <= kAttentionPitch
  std::size_t heads;            // H
  std::size_t head_dim;         // C <= kMaxHeadDim
  DropoutSite dropout;          // threshold 0: no dropout
};

struct CausalAttentionGradArgs {
  CausalAttentionArgs forward;  // arguments of the forward call; its out and log_sums are read
  const float* grad_out;        // [B, T, H, C]
  float* grad_qkv;              // [B, T, 3, H, C] written
};

/// causal_attention() computes out = dropout(softmax(Q K^T / sqrt(C))) V. The softmax of a query is
/// over the keys up to that query. causal_attention_grad() computes the gradients of Q, K and V,
/// and recomputes the probabilities from log_sums. Only a few rows of probabilities (at most 16 on
/// the CPU) are in memory at a time.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda). cpu allocates about T * (6
///         * C + 48) floats per call.
/// Errors: ShapeError when T > kAttentionPitch or C is not 1 to kMaxHeadDim; cuda also
///         LibraryError, and NotBuiltError in a build without CUDA. cuda returns before the work is
///         done.
/// Source: Dao et al., FlashAttention, NeurIPS 2022. cpu needs no online softmax, because a row of
///         scores fits into the processor's cache.
namespace cpu {
void causal_attention(const CausalAttentionArgs& args);
void causal_attention_grad(const CausalAttentionGradArgs& args);
}  // namespace cpu
namespace cuda {
void causal_attention(const CausalAttentionArgs& args, CUstream_st* stream);
void causal_attention_grad(const CausalAttentionGradArgs& args, CUstream_st* stream);
}  // namespace cuda

}  // namespace mgpu::kernels
