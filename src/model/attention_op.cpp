#include "attention_op.hpp"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

namespace mgpu::model {
namespace {

/// Elements between the dropout numbers of two rows of probabilities: longer than any sequence,
/// so that a mask does not depend on how long the batch is.
constexpr std::int64_t kPitch = 1 << 14;

/// The probabilities in memory, [B, H, T, T].
at::Tensor eager_attention(const at::Tensor& qkv, std::int64_t heads, const Dropout* dropout) {
  const std::int64_t rows = qkv.size(0);
  const std::int64_t tokens = qkv.size(1);
  const std::int64_t head_dim = qkv.size(2) / (3 * heads);
  const auto parts = qkv.view({rows, tokens, 3, heads, head_dim}).permute({2, 0, 3, 1, 4});
  const at::Tensor q = parts[0] * (1.0 / std::sqrt(static_cast<double>(head_dim)));
  const at::Tensor scores = at::matmul(q, parts[1].transpose(-1, -2));  // [B, H, T, T]
  const at::Tensor later =
      at::ones({tokens, tokens}, qkv.options().dtype(at::kBool)).triu(1);  // [T, T]
  at::Tensor p = scores.masked_fill(later, -std::numeric_limits<double>::infinity()).softmax(-1);
  if (dropout != nullptr) {
    const at::Tensor lines = p.transpose(1, 2).reshape({rows, tokens * heads, tokens});
    p = dropout_lines(lines, kPitch, *dropout).view({rows, tokens, heads, tokens}).transpose(1, 2);
  }
  const at::Tensor mixed = at::matmul(p, parts[2]);  // [B, H, T, C]
  return mixed.transpose(1, 2).reshape({rows, tokens, heads * head_dim});
}

}  // namespace

at::Tensor causal_attention(const at::Tensor& qkv, std::int64_t heads, AttentionKind /*kind*/,
                            const Dropout* dropout) {
  const bool is_half = qkv.scalar_type() == at::kHalf || qkv.scalar_type() == at::kBFloat16;
  const at::Tensor input = is_half ? qkv.to(at::kFloat) : qkv;
  return eager_attention(input, heads, dropout);
}

}  // namespace mgpu::model
