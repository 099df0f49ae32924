#include "row_ops.hpp"

#include <ATen/ATen.h>

#include <mgpu/kernels/gated_activation.hpp>
#include <mgpu/kernels/rms_norm.hpp>
#include <mgpu/model/device_stream.hpp>

namespace mgpu::language {
namespace {

kernels::ActivationKind kernel_kind(Activation kind) {
  switch (kind) {
    case Activation::silu:
      return kernels::ActivationKind::silu;
    case Activation::gelu:
      return kernels::ActivationKind::gelu;
    case Activation::gelu_tanh:
      break;
  }
  return kernels::ActivationKind::gelu_tanh;
}

/// The last block of x with zeros behind it, [kRowBlock, in].
at::Tensor filled_up(const at::Tensor& rest) {
  at::Tensor block = at::zeros({kRowBlock, rest.size(1)}, rest.options());
  block.narrow(0, 0, rest.size(0)).copy_(rest);
  return block;
}

}  // namespace

at::Tensor project(const at::Tensor& x, const Linear& linear) {
  if (!x.is_cpu()) return at::linear(x, linear.weight, linear.bias);
  const std::int64_t rows = x.size(0);
  const std::int64_t whole = rows / kRowBlock * kRowBlock;
  const at::Tensor weight = linear.weight.t();  // [in, out]
  const at::Tensor input = x.contiguous();
  at::Tensor out = at::empty({rows, weight.size(1)}, x.options());
  for (std::int64_t n = 0; n < whole; n += kRowBlock) {
    at::Tensor block = out.narrow(0, n, kRowBlock);
    at::mm_out(block, input.narrow(0, n, kRowBlock), weight);
  }
  if (whole < rows) {
    const at::Tensor block = at::mm(filled_up(input.narrow(0, whole, rows - whole)), weight);
    out.narrow(0, whole, rows - whole).copy_(block.narrow(0, 0, rows - whole));
  }
  // Added afterwards: where a BLAS adds it in its sum is the BLAS's affair.
  return linear.bias.defined() ? out.add_(linear.bias) : out;
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  const at::Tensor input = x.contiguous();
  at::Tensor out = at::empty_like(input);
  const auto width = static_cast<std::size_t>(weight.numel());
  const kernels::RmsNormArgs args{input.const_data_ptr<float>(),
                                  weight.const_data_ptr<float>(),
                                  out.mutable_data_ptr<float>(),
                                  static_cast<std::size_t>(input.numel()) / width,
                                  width,
                                  static_cast<float>(epsilon)};
  if (x.is_cuda())
    kernels::cuda::rms_norm(args, model::current_stream(x));
  else
    kernels::cpu::rms_norm(args);
  return out;
}

at::Tensor normalize(const LmConfig& config, const at::Tensor& x, const Norm& norm) {
  if (config.norm == NormKind::rms) return rms_norm(x, norm.weight, config.norm_epsilon);
  return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, config.norm_epsilon);
}

at::Tensor gated_activation(Activation kind, const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor input = gate.contiguous();
  const at::Tensor factor = up.defined() ? up.contiguous() : up;
  at::Tensor out = at::empty_like(input);
  const kernels::GatedActivationArgs args{
      input.const_data_ptr<float>(), up.defined() ? factor.const_data_ptr<float>() : nullptr,
      out.mutable_data_ptr<float>(), static_cast<std::size_t>(input.numel()), kernel_kind(kind)};
  if (gate.is_cuda())
    kernels::cuda::gated_activation(args, model::current_stream(gate));
  else
    kernels::cpu::gated_activation(args);
  return out;
}

}  // namespace mgpu::language
