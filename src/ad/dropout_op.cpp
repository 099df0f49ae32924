#include "dropout_op.hpp"

#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mgpu/tensor/device_stream.hpp>

namespace mgpu::ad {
namespace {

/// Returns dropout(x) for contiguous float x [B, L, E], plus `residual` if it is defined.
at::Tensor run(const at::Tensor& x, const at::Tensor& residual, std::int64_t pitch,
               const Dropout& dropout) {
  at::Tensor out = at::empty_like(x);  // [B, L, E]
  kernels::DropoutArgs args{};
  args.x = x.const_data_ptr<float>();
  args.residual = residual.defined() ? residual.const_data_ptr<float>() : nullptr;
  args.samples = dropout.samples.const_data_ptr<std::int64_t>();
  args.out = out.mutable_data_ptr<float>();
  args.rows = static_cast<std::size_t>(x.size(0));
  args.lines = static_cast<std::size_t>(x.size(1));
  args.elements = static_cast<std::size_t>(x.size(2));
  args.pitch = static_cast<std::size_t>(pitch);
  args.site = dropout.site;
  if (tensor::runs_on_gpu(x))
    kernels::cuda::dropout(args, tensor::current_stream(x));
  else
    kernels::cpu::dropout(args);
  return out;
}

/// Returns dropout(x), plus `residual` if it is defined. If x is not float, the mask is still
/// computed in float, so all types drop the same elements.
at::Tensor masked(const at::Tensor& x, const at::Tensor& residual, std::int64_t pitch,
                  const Dropout& dropout) {
  if (x.scalar_type() == at::kFloat) return run(x, residual, pitch, dropout);
  const at::Tensor ones = at::ones(x.sizes(), x.options().dtype(at::kFloat));
  const at::Tensor product = x * run(ones, {}, pitch, dropout).to(x.scalar_type());
  return residual.defined() ? residual + product : product;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Computes dropout. The backward pass computes the mask again, from the same Philox counters.
struct DropoutFunction : torch::autograd::Function<DropoutFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x,
                            const std::optional<at::Tensor>& residual, std::int64_t pitch,
                            const Dropout& dropout) {
    ctx->saved_data["pitch"] = pitch;
    ctx->saved_data["has_residual"] = residual.has_value();
    save_dropout(*ctx, dropout);
    return masked(x, residual.value_or(at::Tensor()), pitch, dropout);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto& saved = ctx->saved_data;
    const Dropout dropout = load_dropout(*ctx);
    const at::Tensor grad = grads[0].contiguous();  // [B, L, E]
    const at::Tensor grad_x = masked(grad, {}, saved.at("pitch").toInt(), dropout);
    return {grad_x, saved.at("has_residual").toBool() ? grad : at::Tensor(), {}, {}};
  }
};

}  // namespace

void save_dropout(AutogradContext& context, const Dropout& dropout) {
  auto& saved = context.saved_data;
  saved["samples"] = dropout.samples;
  saved["seed"] = static_cast<std::int64_t>(dropout.site.seed);
  saved["site"] = static_cast<std::int64_t>(dropout.site.site);
  saved["threshold"] = static_cast<std::int64_t>(dropout.site.threshold);
}

Dropout load_dropout(const AutogradContext& context) {
  const auto& saved = context.saved_data;
  return {{static_cast<std::uint64_t>(saved.at("seed").toInt()),
           static_cast<std::uint32_t>(saved.at("site").toInt()),
           static_cast<std::uint32_t>(saved.at("threshold").toInt())},
          saved.at("samples").toTensor()};
}

at::Tensor dropout_add(const at::Tensor& x, const at::Tensor& residual, const Dropout* dropout) {
  if (dropout == nullptr || dropout->site.threshold == 0) return residual + x;
  const std::int64_t rows = x.size(0);
  const at::Tensor sum = DropoutFunction::apply(
      x.contiguous().view({rows, 1, -1}), std::optional(residual.contiguous().view({rows, 1, -1})),
      std::int64_t{0}, *dropout);
  return sum.view(x.sizes());
}

at::Tensor dropout_lines(const at::Tensor& x, std::int64_t pitch, const Dropout& dropout) {
  if (dropout.site.threshold == 0) return x;
  return DropoutFunction::apply(x.contiguous(), std::optional<at::Tensor>(), pitch, dropout);
}

}  // namespace mgpu::ad
