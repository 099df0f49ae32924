#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>
#include <mgpu/tensor/compute_kind.hpp>

#include "lm/forward/attention.hpp"
#include "lm/forward/rope.hpp"

// The operations of row_ops.hpp, rope.hpp and attention.hpp with gradients. Forward, they are those
// operations: in float32 on the CPU the same bits. float64, for checks of gradients, goes through
// libtorch. Shapes: N tokens, D width, V vocabulary, H query heads, G key heads, C head width.
namespace mgpu::lm::grad {

/// x w^T [rows, out], in the type `compute`, of matrices with any strides; not differentiable.
///
/// Shapes: x [rows, in]; w [out, in]
at::Tensor product(const at::Tensor& x, const at::Tensor& w, tensor::ComputeKind compute);

/// Adds product(x, w, compute) to `out`, [rows, out] contiguous.
void add_product(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w,
                 tensor::ComputeKind compute);

/// Where gradients of `weight` are added: what it has as a leaf, else undefined. Gradients of whole
/// matrices are added in place, where autograd would make a matrix of them first; it is given an
/// undefined one, and calls the hooks of the leaf nevertheless.
at::Tensor gradient_of_leaf(const at::Tensor& weight);

/// Calls the hooks of a leaf whose gradient autograd does not see at all.
void say_gradient_added(const at::Tensor& weight);

/// Rows of a table, [N, D].
///
/// Shapes: table [V, D]; ids [N] int64
at::Tensor embed(const at::Tensor& table, const at::Tensor& ids);

/// x W^T + b; the linear is not packed.
at::Tensor project(const at::Tensor& x, const Linear& linear, tensor::ComputeKind compute);

/// RMS norm over the last dimension.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

/// The norm that the config says.
at::Tensor normalize(const LmConfig& config, const at::Tensor& x, const Norm& norm);

/// Rotates the pairs (c, c + C / 2) of each head, [N, H, C], behind its RMS norm where there is a
/// `weight`.
at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, const at::Tensor& weight,
                  double epsilon);

/// activation(gate) * up; `up` undefined: activation(gate).
at::Tensor gated_activation(Activation kind, const at::Tensor& gate, const at::Tensor& up);

/// Tokens begin .. begin + count - 1 of a call are one sequence from its start.
struct RunSpan {
  std::int64_t begin;
  std::int64_t count;
};

/// Whole sequences, one after the other; none sees another.
struct Sequences {
  TokenPlaces places;  // as places_without_cache() gives them
  std::vector<RunSpan> spans;
};

/// What attention knows beside its tensors. Both have to live as long as the call.
struct AttendedSequences {
  const Sequences& sequences;
  const LayerConfig& layer;
};

/// Shapes: q [N, H, C]; k, v [N, G, C]; sinks [H] or undefined. Returns [N, H * C].
/// Memory: scores of 128 queries of one run at a time; of 8 in float32 on the CPU, on GPUs forward.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const at::Tensor& sinks, const AttendedSequences& attended);

}  // namespace mgpu::lm::grad
