#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mgpu/kernels/varlen_attention.hpp>
#include <mgpu/tensor/device_stream.hpp>

#include "grad_ops.hpp"
#include "lm/forward/attention_blocks.hpp"

namespace mgpu::lm::grad {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::size_t kRangeValues = 4;

Sequences saved_ranges(AutogradContext& ctx) {
  const std::vector<std::int64_t> values = ctx.saved_data["ranges"].toIntVector();
  Sequences sequences;
  for (std::size_t i = 0; i < values.size(); i += kRangeValues)
    sequences.ranges.push_back({values[i], values[i + 1], values[i + 2], values[i + 3]});
  return sequences;
}

void save_ranges(AutogradContext& ctx, const Sequences& sequences) {
  std::vector<std::int64_t> values;
  for (const TokenRange& range : sequences.ranges)
    for (const std::int64_t value :
         {range.begin, range.count, range.prefix_begin, range.prefix_count})
      values.push_back(value);
  ctx.saved_data["ranges"] = values;
}

/// Copies the keys or values `rows`, [N, G, C] for N rows and G key heads of width C, to the slots
/// of Sequences::index. Returns the slots, [slots, G, C]. If each slot i contains row i, returns
/// `rows` itself.
at::Tensor in_slots(const at::Tensor& rows, const Sequences& sequences) {
  return sequences.key_rows.defined() ? rows.index_select(0, sequences.key_rows) : rows;
}

AttentionGrads grads_by_kernel(const AttentionGrads& in, const at::Tensor& grad_out,
                               const Sequences& sequences, const LayerConfig& layer) {
  AttentionGrads grads{at::empty_like(in.q), at::empty_like(in.k), at::empty_like(in.v),
                       at::zeros_like(in.sinks)};
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> prefix_begins;
  std::vector<std::int64_t> prefix_counts;
  for (const TokenRange& range : sequences.ranges) {
    begins.push_back(range.begin);
    prefix_begins.push_back(range.prefix_begin);
    prefix_counts.push_back(range.prefix_count);
  }
  begins.push_back(in.q.size(0));
  kernels::VarlenAttentionGradArgs args{};
  args.queries = in.q.const_data_ptr<float>();
  args.keys = in.k.const_data_ptr<float>();
  args.values = in.v.const_data_ptr<float>();
  args.grad_out = grad_out.const_data_ptr<float>();
  args.grad_queries = grads.q.mutable_data_ptr<float>();
  args.grad_keys = grads.k.mutable_data_ptr<float>();
  args.grad_values = grads.v.mutable_data_ptr<float>();
  args.sequence_begins = begins.data();
  args.prefix_begins = prefix_begins.data();
  args.prefix_counts = prefix_counts.data();
  args.num_sequences = sequences.ranges.size();
  args.heads = static_cast<std::size_t>(in.q.size(1));
  args.kv_heads = static_cast<std::size_t>(in.k.size(1));
  args.head_dim = static_cast<std::size_t>(in.q.size(2));
  args.window = layer.window;
  args.scale = static_cast<float>(layer.score_scale);
  if (in.sinks.numel() > 0) {
    args.sinks = in.sinks.const_data_ptr<float>();
    args.grad_sinks = grads.sinks.mutable_data_ptr<float>();
  }
  kernels::cpu::varlen_attention_grad(args);
  return grads;
}

struct AttendFunction : torch::autograd::Function<AttendFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const at::Tensor& sinks,
                            const AttendedSequences* attended) {
    const LayerConfig& layer = attended->layer;
    ctx->save_for_backward({q, k, v, sinks});
    save_ranges(*ctx, attended->sequences);
    ctx->saved_data["window"] = layer.window;
    ctx->saved_data["scale"] = layer.score_scale;
    if (q.scalar_type() == at::kFloat)
      return lm::attend(q, in_slots(k, attended->sequences), in_slots(v, attended->sequences),
                        attended->sequences.index, layer, sinks.numel() > 0 ? sinks : at::Tensor());
    return attend_in_blocks(q, k, v, sinks, *attended);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const AttentionGrads in{saved[0], saved[1], saved[2], saved[3]};
    const Sequences sequences = saved_ranges(*ctx);
    const LayerConfig layer{ctx->saved_data["window"].toInt(), ctx->saved_data["scale"].toDouble()};
    const at::Tensor grad_out = grads[0].reshape(in.q.sizes()).contiguous();
    const bool has_kernel = !tensor::runs_on_gpu(in.q) && in.q.scalar_type() == at::kFloat;
    const AttentionGrads out = has_kernel ? grads_by_kernel(in, grad_out, sequences, layer)
                                          : grads_in_blocks(in, grad_out, {sequences, layer});
    return {out.q, out.k, out.v, out.sinks, {}};
  }
};

}  // namespace

at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const at::Tensor& sinks, const AttendedSequences& attended) {
  // The inputs of an autograd function must be defined.
  const at::Tensor some_sinks = sinks.defined() ? sinks : at::empty({0}, q.options());
  return AttendFunction::apply(q.contiguous(), k.contiguous(), v.contiguous(), some_sinks,
                               &attended);
}

}  // namespace mgpu::lm::grad
