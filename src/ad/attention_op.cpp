#include "attention_op.hpp"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mgpu/kernels/causal_attention.hpp>
#include <mgpu/tensor/device_stream.hpp>

namespace mgpu::ad {
namespace {

/// Returns the attention, [B, T, D]. Keeps all probabilities [B, H, T, T] in memory.
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
    p = dropout_lines(lines, kernels::kAttentionPitch, *dropout)
            .view({rows, tokens, heads, tokens})
            .transpose(1, 2);
  }
  const at::Tensor attention_out = at::matmul(p, parts[2]);  // [B, H, T, C]
  return attention_out.transpose(1, 2).reshape({rows, tokens, heads * head_dim});
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Returns kernel arguments that point into the tensors.
/// Shapes: out [B, T, D], log_sums [B, H, T]
kernels::CausalAttentionArgs args_of(const at::Tensor& qkv, std::int64_t heads,
                                     const at::Tensor& out, const at::Tensor& log_sums,
                                     const Dropout& dropout) {
  kernels::CausalAttentionArgs args{};
  args.qkv = qkv.const_data_ptr<float>();
  args.out = out.mutable_data_ptr<float>();
  args.log_sums = log_sums.mutable_data_ptr<float>();
  args.rows = static_cast<std::size_t>(qkv.size(0));
  args.tokens = static_cast<std::size_t>(qkv.size(1));
  args.heads = static_cast<std::size_t>(heads);
  args.head_dim = static_cast<std::size_t>(out.size(2) / heads);
  if (dropout.samples.defined()) {
    args.samples = dropout.samples.const_data_ptr<std::int64_t>();
    args.dropout = dropout.site;
  }
  return args;
}

/// Computes attention without saving probabilities. The backward pass computes the probabilities
/// and the dropout masks again.
struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv, std::int64_t heads,
                            const Dropout& dropout) {
    const at::Tensor out = at::empty({qkv.size(0), qkv.size(1), qkv.size(2) / 3}, qkv.options());
    const at::Tensor log_sums = at::empty({qkv.size(0), heads, qkv.size(1)}, qkv.options());
    const auto args = args_of(qkv, heads, out, log_sums, dropout);
    if (tensor::runs_on_gpu(qkv))
      kernels::cuda::causal_attention(args, tensor::current_stream(qkv));
    else
      kernels::cpu::causal_attention(args);
    ctx->save_for_backward({qkv, out, log_sums});
    ctx->saved_data["heads"] = heads;
    save_dropout(*ctx, dropout);
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();  // qkv, out, log_sums
    const std::int64_t heads = ctx->saved_data["heads"].toInt();
    const Dropout dropout = load_dropout(*ctx);
    const at::Tensor grad_out = grads[0].contiguous();     // [B, T, D]
    const at::Tensor grad_qkv = at::empty_like(saved[0]);  // [B, T, 3 D]
    const kernels::CausalAttentionGradArgs args{
        args_of(saved[0], heads, saved[1], saved[2], dropout), grad_out.const_data_ptr<float>(),
        grad_qkv.mutable_data_ptr<float>()};
    if (tensor::runs_on_gpu(grad_out))
      kernels::cuda::causal_attention_grad(args, tensor::current_stream(grad_out));
    else
      kernels::cpu::causal_attention_grad(args);
    return {grad_qkv, {}, {}};
  }
};

}  // namespace

at::Tensor causal_attention(const at::Tensor& qkv, std::int64_t heads, AttentionKind kind,
                            const Dropout* dropout) {
  const bool is_half = qkv.scalar_type() == at::kHalf || qkv.scalar_type() == at::kBFloat16;
  const at::Tensor input = is_half ? qkv.to(at::kFloat) : qkv;
  if (kind == AttentionKind::eager) return eager_attention(input, heads, dropout);
  return AttentionFunction::apply(input.contiguous(), heads,
                                  dropout == nullptr ? Dropout{} : *dropout);
}

}  // namespace mgpu::ad
