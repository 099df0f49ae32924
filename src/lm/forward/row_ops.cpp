#include "row_ops.hpp"

#include <vector>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/gated_activation.hpp>
#include <mgpu/kernels/packed_product.hpp>
#include <mgpu/kernels/rms_norm.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/wide_product.hpp>

namespace mgpu::lm {
namespace {

kernels::WeightType weight_type(const at::Tensor& weight) {
  return weight.scalar_type() == at::kBFloat16 ? kernels::WeightType::bf16
                                               : kernels::WeightType::f32;
}

/// Returns x in float32. If `weight` is bfloat16, the numbers are rounded to bfloat16 first,
/// because the kernel does not round x.
at::Tensor rounded_like(const at::Tensor& weight, const at::Tensor& x) {
  return weight.scalar_type() == at::kBFloat16 ? x.to(at::kBFloat16).to(at::kFloat) : x;
}

at::Tensor product_on_device(const at::Tensor& x, const Linear& linear) {
  if (linear.weight.scalar_type() == x.scalar_type())
    return at::linear(x, linear.weight, linear.bias);
  const at::Tensor out = tensor::wide_product(x.to(linear.weight.scalar_type()), linear.weight);
  return linear.bias.defined() ? out.add_(linear.bias) : out;
}

/// Returns activation(gate), multiplied by `up` if `up` is defined. `args` has the kind and the
/// parameters of the activation.
at::Tensor activate(const at::Tensor& gate, const at::Tensor& up,
                    kernels::GatedActivationArgs args) {
  const at::Tensor input = gate.contiguous();
  const at::Tensor factor = up.defined() ? up.contiguous() : up;
  at::Tensor out = at::empty_like(input);
  args.gate = input.const_data_ptr<float>();
  args.up = up.defined() ? factor.const_data_ptr<float>() : nullptr;
  args.out = out.mutable_data_ptr<float>();
  args.count = static_cast<std::size_t>(input.numel());
  if (tensor::runs_on_gpu(gate))
    kernels::cuda::gated_activation(args, tensor::current_stream(gate));
  else
    kernels::cpu::gated_activation(args);
  return out;
}

std::int64_t panels_of(std::int64_t outputs, std::int64_t width) {
  return (outputs + width - 1) / width;
}

}  // namespace

std::vector<std::int64_t> panel_shape(const Linear& linear) {
  if (!linear.weight.defined() || tensor::runs_on_gpu(linear.weight)) return {0};
  const auto width = static_cast<std::int64_t>(kernels::cpu::panel_width());
  return {panels_of(linear.weight.size(0), width), linear.weight.size(1), width};
}

void pack(Linear& linear, const at::Tensor& panels) {
  const at::Tensor& weight = linear.weight;
  kernels::cpu::pack_panels(
      {weight.const_data_ptr(), panels.mutable_data_ptr(), static_cast<std::size_t>(weight.size(0)),
       static_cast<std::size_t>(weight.size(1)), static_cast<std::size_t>(weight.stride(0)),
       static_cast<std::size_t>(weight.stride(1)), weight_type(weight)});
  linear = {{}, linear.bias, panels, weight.size(0)};
}

Linear part_of(const Linear& linear, std::int64_t first, std::int64_t count) {
  if (!linear.panels.defined()) return {linear.weight.narrow(0, first, count), {}, {}};
  const std::int64_t width = linear.panels.size(2);
  return {{}, {}, linear.panels.narrow(0, first / width, panels_of(count, width)), count};
}

at::Tensor project(const at::Tensor& x, const Linear& linear) {
  if (tensor::runs_on_gpu(x)) return product_on_device(x, linear);
  if (!linear.panels.defined()) throw ShapeError("project: weights that are not packed");
  if (x.size(1) != linear.panels.size(1)) throw ShapeError("project: rows of another width");
  const at::Tensor input = rounded_like(linear.panels, x).contiguous();
  at::Tensor out = at::empty({x.size(0), linear.outputs}, x.options());
  kernels::cpu::packed_product(
      {input.const_data_ptr<float>(), linear.panels.const_data_ptr(), out.mutable_data_ptr<float>(),
       static_cast<std::size_t>(x.size(0)), static_cast<std::size_t>(x.size(1)),
       static_cast<std::size_t>(linear.outputs), weight_type(linear.panels)});
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
  if (tensor::runs_on_gpu(x))
    kernels::cuda::rms_norm(args, tensor::current_stream(x));
  else
    kernels::cpu::rms_norm(args);
  return out;
}

at::Tensor normalize(const LmConfig& config, const at::Tensor& x, const Norm& norm) {
  if (config.norm == NormKind::rms) return rms_norm(x, norm.weight, config.norm_epsilon);
  return at::layer_norm(x, {x.size(-1)}, norm.weight, norm.bias, config.norm_epsilon);
}

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

at::Tensor gated_activation(Activation kind, const at::Tensor& gate, const at::Tensor& up) {
  kernels::GatedActivationArgs args{};
  args.kind = kernel_kind(kind);
  return activate(gate, up, args);
}

at::Tensor clamped_activation(const ExpertConfig& experts, const at::Tensor& gate,
                              const at::Tensor& up) {
  kernels::GatedActivationArgs args{};
  args.kind = kernels::ActivationKind::clamped;
  args.gain = static_cast<float>(experts.gain);
  args.limit = static_cast<float>(experts.limit);
  return activate(gate, up, args);
}

}  // namespace mgpu::lm
