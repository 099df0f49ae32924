#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

namespace mgpu::kernels {

enum class ActivationKind : std::uint8_t {
  silu,       // x / (1 + exp(-x))
  gelu,       // x (1 + erf(x / sqrt 2)) / 2
  gelu_tanh,  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
  clamped,    // y / (1 + exp(-gain y)), y = min(x, limit); times clamp(up, -limit, limit) + 1
};

struct GatedActivationArgs {
  const float* gate;  // [count]
  const float* up;    // [count]; nullptr: out = activation(gate)
  float* out;         // [count] written; may be gate or up
  std::size_t count;
  ActivationKind kind;
  float gain = 1.0F;   // of ActivationKind::clamped
  float limit = 1.0F;  // of ActivationKind::clamped
};

/// Computes out = activation(gate) * up; for ActivationKind::clamped, out = activation(gate) *
/// (clamp(up, -limit, limit) + 1). The bits of an output depend on its two inputs only, not on
/// their position. To ensure this, cpu pads an incomplete SIMD vector at the end of the arrays,
/// instead of computing its elements with scalar code.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: cuda throws LibraryError when the launch fails, and NotBuiltError in a build without
///         CUDA. cuda returns before the work is done.
/// Source: Hendrycks and Gimpel, arXiv 1606.08415; Shazeer, arXiv 2002.05202 (gated).
namespace cpu {
void gated_activation(const GatedActivationArgs& args);
}
namespace cuda {
void gated_activation(const GatedActivationArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
