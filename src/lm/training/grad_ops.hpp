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

// The operations of row_ops.hpp, rope.hpp and attention.hpp with gradients. In float32 on the CPU,
// the results have the same bits as without gradients. Operations in float64 are for gradient
// checks, and use libtorch. Shapes: N tokens, D width, V vocabulary, H query heads, G key heads, C
// head width.
namespace mgpu::lm::grad {

/// Returns the matrix product x w^T, [rows, out]. Both factors are rounded to the type `compute`.
/// On the CPU the result is rounded, too, but on a GPU it stays float32. The factors may have any
/// strides. The function is not differentiable.
///
/// Shapes: x [rows, in]; w [out, in]
at::Tensor product(const at::Tensor& x, const at::Tensor& w, tensor::ComputeKind compute);

/// Adds product(x, w, compute) to `out`, [rows, out] contiguous.
void add_product(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w,
                 tensor::ComputeKind compute);

/// Returns the gradient tensor of `weight` if it is a leaf, else an undefined tensor. Backward
/// functions add gradients of whole matrices to this tensor in place, which saves a temporary
/// matrix. They return an undefined gradient to autograd, which still calls the hooks of the leaf.
at::Tensor gradient_of_leaf(const at::Tensor& weight);

/// Calls the post-accumulate-grad hooks of `weight`. `weight` is a leaf whose gradient does not
/// pass through autograd.
void say_gradient_added(const at::Tensor& weight);

/// Returns the rows `ids` of an embedding table, [N, D].
///
/// Shapes: table [V, D]; ids [N] int64
at::Tensor embed(const at::Tensor& table, const at::Tensor& ids);

/// Returns the rows `positions` of a table of learned positions, [N, D]. The gradients of the rows
/// are added in a fixed order. A GPU adds them directly to the table's gradient, but on the CPU
/// autograd first sums the gradients of a batch.
at::Tensor embed_positions(const at::Tensor& table, const at::Tensor& positions);

/// Returns x W^T + b of a linear layer. Its weight must not be packed for the CPU kernels.
at::Tensor project(const at::Tensor& x, const Linear& linear, tensor::ComputeKind compute);

/// Returns the RMS norm of x over the last dimension.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

/// Returns the norm of each row of x: a layer norm or RMS norm, as LmConfig::norm says.
at::Tensor normalize(const LmConfig& config, const at::Tensor& x, const Norm& norm);

/// Returns x, [N, H, C], after a rotation of the pairs (c, c + C / 2) of each head. If `weight` is
/// defined, each head first gets an RMS norm.
at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, const at::Tensor& weight,
                  double epsilon);

/// Returns activation(gate) * up, or activation(gate) if `up` is undefined.
at::Tensor gated_activation(Activation kind, const at::Tensor& gate, const at::Tensor& up);

/// The rows of one sequence in a pass: begin .. begin + count - 1. If the sequence shares its first
/// tokens with an earlier one, it also uses the rows of that prefix, which precede these rows.
struct TokenRange {
  std::int64_t begin;
  std::int64_t count;
  std::int64_t prefix_begin = 0;  // first row of the prefix, which an earlier sequence owns
  std::int64_t prefix_count = 0;  // number of rows of the prefix; 0: none
};

/// The whole sequences of a pass, which do not attend to each other.
struct Sequences {
  AttentionIndex index;            // from index_without_cache() or index_of()
  std::vector<TokenRange> ranges;  // [sequences]
  at::Tensor key_rows;  // [slots] int64: row of each slot of `index`; undefined: slot i is row i
};

/// The inputs of attend() other than tensors. Both references have to outlive the call of attend().
struct AttendedSequences {
  const Sequences& sequences;
  const LayerConfig& layer;
};

/// Returns the attention outputs, [N, H * C].
///
/// Shapes: q [N, H, C]; k, v [N, G, C]; sinks [H] or undefined
/// Memory: scores of 128 queries of one sequence. In float32, scores of 8 queries suffice for both
///         passes on the CPU, and for the forward pass on GPUs.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const at::Tensor& sinks, const AttendedSequences& attended);

}  // namespace mgpu::lm::grad
