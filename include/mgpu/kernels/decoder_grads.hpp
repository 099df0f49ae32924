#pragma once

#include <cstddef>
#include <cstdint>

#include <mgpu/kernels/gated_activation.hpp>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

// Gradients of the row-wise operations of a decoder, each in one pass over memory. On GPUs,
// libtorch computes these gradients, except those of logits_grad(). Pointers are on the host (cpu)
// or on the stream's device (cuda). `grad` is the gradient of the operation's output.
//
// Shapes in this header: N = rows, D = width, V = logits of a row in one block of the vocabulary.
namespace mgpu::kernels {

struct RmsNormGradArgs {
  const float* x;       // [N, D]
  const float* weight;  // [D]
  const float* grad;    // [N, D]
  float* grad_x;        // [N, D] written
  float* grad_weight;   // [D] incremented, in the order of the rows
  std::size_t rows;     // N
  std::size_t width;    // D
  float epsilon;
};

struct GatedActivationGradArgs {
  const float* gate;  // [count]
  const float* up;    // [count]; nullptr: all 1
  const float* grad;  // [count]
  float* grad_gate;   // [count] written
  float* grad_up;     // [count] written; nullptr if `up` is nullptr
  std::size_t count;
  ActivationKind kind;  // any except clamped
};

struct LogitsGradArgs {
  float* logits;                // [N, V] replaced by the gradients
  const float* log_sums;        // [N] log of the sum of exp(logit) over the whole vocabulary
  const std::int64_t* targets;  // [N] ids, which may be outside this block of the vocabulary
  std::int64_t first_id;        // token id of the first of the V logits
  std::size_t rows;             // N
  std::size_t block;            // V
  float scale;
};

namespace cpu {
/// Computes the gradients of rms_norm() with respect to x and the weight.
void rms_norm_grad(const RmsNormGradArgs& args);

/// Computes the gradients of gated_activation() with respect to gate and up.
///
/// Errors: ShapeError for ActivationKind::clamped.
void gated_activation_grad(const GatedActivationGradArgs& args);

/// Replaces the logits of one block of the vocabulary by the gradients of scale * cross-entropy.
/// The cross-entropy is the sum over rows of (log_sum - logit of the target).
void logits_grad(const LogitsGradArgs& args);
}  // namespace cpu

namespace cuda {
/// Computes the same as cpu::logits_grad(), and returns before the work is done.
///
/// Errors: LibraryError, and NotBuiltError in a build without CUDA.
void logits_grad(const LogitsGradArgs& args, CUstream_st* stream);
}  // namespace cuda

}  // namespace mgpu::kernels
