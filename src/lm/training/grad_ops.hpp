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

/// Returns the matrix product x w^T, [rows, out], in the type of x. If `compute` is bf16 or f16,
/// both factors are rounded to this type. On the CPU, the product is rounded to this type, too. On
/// a GPU, the product is not rounded to this type. The factors may have any strides. The function
/// is not differentiable.
///
/// Shapes: x [rows, in]; w [out, in]
at::Tensor product(const at::Tensor& x, const at::Tensor& w, tensor::ComputeKind compute);

/// Adds product(x, w, compute) to `out`, [rows, out] contiguous.
void add_product(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w,
                 tensor::ComputeKind compute);

/// Returns weight.grad() if `weight` is a leaf of autograd's graph, else an undefined tensor. If
/// the result is defined, backward functions add the gradient of `weight` to it in place, which
/// saves a temporary matrix. In this case, they return an undefined gradient to autograd, which
/// still calls the post-accumulate-grad hooks of the leaf.
at::Tensor gradient_of_leaf(const at::Tensor& weight);

/// Calls the post-accumulate-grad hooks of `weight`, which must be a leaf. Autograd calls the hooks
/// only when its backward pass reaches `weight`. Code that adds a gradient without such a pass has
/// to call this function.
void say_gradient_added(const at::Tensor& weight);

/// Returns the rows `ids` of an embedding table, [N, D].
///
/// Shapes: table [V, D]; ids [N] int64
at::Tensor embed(const at::Tensor& table, const at::Tensor& ids);

/// Returns the rows `positions` of a table of learned positions, [N, D]. The backward pass adds the
/// gradients of the rows in a fixed order. On a GPU, it adds the gradients directly to the table's
/// gradient. On the CPU, autograd first adds up the gradients of a batch in a temporary tensor.
at::Tensor embed_positions(const at::Tensor& table, const at::Tensor& positions);

/// Returns x W^T + b of a linear layer. Its weight must not be packed for the CPU kernels.
at::Tensor project(const at::Tensor& x, const Linear& linear, tensor::ComputeKind compute);

/// Returns the RMS norm of x over the last dimension.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

/// Returns x after a layer norm or an RMS norm of each row, depending on LmConfig::norm.
at::Tensor normalize(const LmConfig& config, const at::Tensor& x, const Norm& norm);

/// Returns x, [N, H, C], after a rotation of the pairs of elements (c, c + C / 2) of each head. If
/// `weight` [C] is defined, each head is first normalized with an RMS norm.
at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, const at::Tensor& weight,
                  double epsilon);

/// Returns activation(gate) * up, or activation(gate) if `up` is undefined.
at::Tensor gated_activation(Activation kind, const at::Tensor& gate, const at::Tensor& up);

/// The rows of one sequence in a pass (PassRows). If the sequence shares the rows of a prefix with
/// an earlier sequence, the prefix has rows prefix_begin .. prefix_begin + prefix_count - 1. The
/// other tokens of the sequence have rows begin .. begin + count - 1.
struct TokenRange {
  std::int64_t begin;
  std::int64_t count;
  std::int64_t prefix_begin = 0;  // first row of the prefix
  std::int64_t prefix_count = 0;  // number of rows of the prefix; 0: none
};

/// The sequences of a pass. No token attends to another sequence.
struct Sequences {
  AttentionIndex index;            // from index_without_cache() or shared_sequences()
  std::vector<TokenRange> ranges;  // [sequences]
  at::Tensor key_rows;  // [slots] int64: row of each slot of `index`; undefined: slot i is row i
};

/// The inputs of attend() that are not tensors. `sequences` and `layer` have to outlive the call of
/// attend().
struct AttendedSequences {
  const Sequences& sequences;
  const LayerConfig& layer;
};

/// Returns the attention outputs, [N, H * C].
///
/// Shapes: q [N, H, C]; k, v [N, G, C]; sinks [H] or undefined
/// Memory: attention scores of at most 128 queries at a time. In float32, the forward pass needs
///         the scores of at most 8 queries, and the backward pass on the CPU those of at most 16
///         queries.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const at::Tensor& sinks, const AttendedSequences& attended);

}  // namespace mgpu::lm::grad
