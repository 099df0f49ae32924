#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/config/lm_config.hpp>

// Shapes in this header: N tokens, H heads, C head width.
namespace mgpu::lm {

/// Cosine and sine of the rotation angles (RoPE) of N tokens, times RopeConfig::attention_factor.
struct Rotation {
  at::Tensor cosine;  // [N, 1, C / 2] float32
  at::Tensor sine;    // [N, 1, C / 2]
};

/// Returns the angle per position of each pair of columns, in radians, [C / 2] float32 on the CPU.
/// The angles are rounded as in transformers, because at large positions the rounding matters.
///
/// `positions` is LmConfig::max_positions. `length` is the length of the sequence; only
/// RopeKind::dynamic uses it.
/// Source: transformers 5.23, modeling_rope_utils.py; Peng et al., arXiv 2309.00071 (yarn).
at::Tensor inverse_frequencies(const RopeConfig& rope, std::int64_t head_dim,
                               std::int64_t positions, std::int64_t length);

/// Consecutive tokens of one sequence whose queries and keys are rotated.
struct RotatedSpan {
  std::int64_t first;   // position of the first token
  std::int64_t count;   // number of tokens
  std::int64_t length;  // length of the whole sequence, for RopeKind::dynamic
};

/// Returns the rotation of all tokens of the spans, in order, on the device of `like`.
Rotation make_rotation(const LmConfig& config, std::span<const RotatedSpan> spans,
                       const at::Tensor& like);

/// Returns x after a rotation of the column pairs (c, c + C / 2) of each head. If `weight` is
/// defined, an RMS norm with this weight is applied to each head first.
///
/// Shapes: x [N, H, C] float32; weight [C] or undefined
at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, const at::Tensor& weight = {},
                  double epsilon = 0.0);

}  // namespace mgpu::lm
