#include "grad_ops.hpp"

#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/decoder_grads.hpp>
#include <mgpu/kernels/matrix_product.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/wide_product.hpp>

#include "lm/forward/row_ops.hpp"

namespace mgpu::lm::grad {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

bool has_kernel(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat;
}

/// Returns whether CPU kernels of this program process `x`. If not, libtorch or GPU kernels do.
bool runs_here(const at::Tensor& x) {
  return !tensor::runs_on_gpu(x) && has_kernel(x);
}

/// Writes x w^T to the contiguous tensor `out`. If `adds` is true, adds the product to `out`
/// instead.
void multiply(const at::Tensor& x, const at::Tensor& w, const at::Tensor& out, bool adds) {
  if (x.size(1) != w.size(1)) throw ShapeError("product: rows of another width");
  const bool is_in_order = x.stride(1) == 1 || x.stride(0) != 1;
  const at::Tensor rows = is_in_order ? x.contiguous() : x;
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  kernels::MatrixProductArgs args{};
  args.x = rows.const_data_ptr<float>();
  args.weight = w.const_data_ptr<float>();
  args.out = out.mutable_data_ptr<float>();
  args.rows = size(x.size(0));
  args.inputs = size(x.size(1));
  args.outputs = size(w.size(0));
  args.row_stride = size(rows.stride(0));
  args.input_stride = size(rows.stride(1));
  args.output_stride = size(w.stride(0));
  args.weight_input_stride = size(w.stride(1));
  args.adds = adds;
  kernels::cpu::matrix_product(args);
}

at::ScalarType type_of(tensor::ComputeKind compute) {
  return compute == tensor::ComputeKind::bf16 ? at::kBFloat16 : at::kHalf;
}

struct ProductFunction : Function<ProductFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            std::int64_t compute) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["compute"] = compute;
    return product(x, weight, static_cast<tensor::ComputeKind>(compute));
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();  // x [N, in], weight [out, in]
    const auto compute = static_cast<tensor::ComputeKind>(ctx->saved_data["compute"].toInt());
    const at::Tensor grad = grads[0].contiguous();  // [N, out]
    const at::Tensor grad_x = product(grad, saved[1].t(), compute);
    const at::Tensor into = gradient_of_leaf(saved[1]);
    if (!into.defined()) return {grad_x, product(grad.t(), saved[0].t(), compute), {}};
    add_product(into, grad.t(), saved[0].t(), compute);
    return {grad_x, {}, {}};
  }
};

/// Adds row n of `rows` to row ids[n] of `out`, for each n. If ids are equal, the rows are added in
/// a fixed order. On a GPU, index_put_() ensures this by sorting the ids, whereas the order of
/// index_add_() is not fixed.
void add_rows(at::Tensor out, const at::Tensor& ids, const at::Tensor& rows) {
  if (tensor::runs_on_gpu(out))
    out.index_put_({ids}, rows, /*accumulate=*/true);
  else
    out.index_add_(0, ids, rows);
}

struct EmbedFunction : Function<EmbedFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& table, const at::Tensor& ids) {
    ctx->save_for_backward({table, ids});
    return table.index_select(0, ids);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();  // table [V, D], ids [N]
    const at::Tensor into = gradient_of_leaf(saved[0]);
    const at::Tensor sums = into.defined() ? into : at::zeros_like(saved[0]);
    add_rows(sums, saved[1], grads[0]);
    return {into.defined() ? at::Tensor() : sums, at::Tensor()};
  }
};

at::Tensor inverse_rms(const at::Tensor& x, double epsilon) {
  return (x * x).mean(-1, true).add_(epsilon).rsqrt_();
}

std::pair<at::Tensor, at::Tensor> rms_norm_grads_here(const at::Tensor& x, const at::Tensor& weight,
                                                      double epsilon, const at::Tensor& grad) {
  const at::Tensor in = x.contiguous();
  const at::Tensor grad_out = grad.contiguous();
  std::pair<at::Tensor, at::Tensor> grads{at::empty_like(in), at::zeros_like(weight)};
  const auto width = static_cast<std::size_t>(weight.numel());
  kernels::cpu::rms_norm_grad(
      {in.const_data_ptr<float>(), weight.const_data_ptr<float>(), grad_out.const_data_ptr<float>(),
       grads.first.mutable_data_ptr<float>(), grads.second.mutable_data_ptr<float>(),
       static_cast<std::size_t>(in.numel()) / width, width, static_cast<float>(epsilon)});
  return grads;
}

/// Returns the gradients of x and weight, given the gradient of the norm's output.
std::pair<at::Tensor, at::Tensor> rms_norm_grads(const at::Tensor& x, const at::Tensor& weight,
                                                 double epsilon, const at::Tensor& grad) {
  if (runs_here(x)) return rms_norm_grads_here(x, weight, epsilon, grad);
  const at::Tensor scale = inverse_rms(x, epsilon);  // [.., 1]
  const at::Tensor normed = x * scale;
  const at::Tensor grad_normed = grad * weight;
  const at::Tensor along = (grad_normed * normed).mean(-1, true);
  const at::Tensor grad_weight = (grad * normed).reshape({-1, x.size(-1)}).sum(0);
  return {(grad_normed - normed * along) * scale, grad_weight};
}

struct RmsNormFunction : Function<RmsNormFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            double epsilon) {
    ctx->save_for_backward({x, weight});
    ctx->saved_data["epsilon"] = epsilon;
    if (has_kernel(x)) return lm::rms_norm(x, weight, epsilon);
    return x * inverse_rms(x, epsilon) * weight;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();  // x, weight
    const auto [grad_x, grad_weight] =
        rms_norm_grads(saved[0], saved[1], ctx->saved_data["epsilon"].toDouble(), grads[0]);
    return {grad_x, grad_weight, {}};
  }
};

at::Tensor rotated(const at::Tensor& x, const Rotation& rotation) {
  if (has_kernel(x)) return lm::rotate(x, rotation);
  const auto halves = x.chunk(2, -1);
  return at::cat({halves[0] * rotation.cosine - halves[1] * rotation.sine,
                  halves[1] * rotation.cosine + halves[0] * rotation.sine},
                 -1);
}

struct RotateFunction : Function<RotateFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& cosine,
                            const at::Tensor& sine) {
    ctx->save_for_backward({cosine, sine});
    return rotated(x, {cosine, sine});
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    return {rotated(grads[0], {saved[0], -saved[1]}), {}, {}};
  }
};

struct NormedRotateFunction : Function<NormedRotateFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& cosine,
                            const at::Tensor& sine, const at::Tensor& weight, double epsilon) {
    ctx->save_for_backward({x, cosine, sine, weight});
    ctx->saved_data["epsilon"] = epsilon;
    if (has_kernel(x)) return lm::rotate(x, {cosine, sine}, weight, epsilon);
    return rotated(x * inverse_rms(x, epsilon) * weight, {cosine, sine});
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();  // x, cosine, sine, weight
    const at::Tensor grad_normed = rotated(grads[0], {saved[1], -saved[2]});
    const auto [grad_x, grad_weight] =
        rms_norm_grads(saved[0], saved[3], ctx->saved_data["epsilon"].toDouble(), grad_normed);
    return {grad_x, {}, {}, grad_weight, {}};
  }
};

at::Tensor activated(Activation kind, const at::Tensor& x) {
  if (kind == Activation::silu) return at::silu(x);
  return at::gelu(x, kind == Activation::gelu ? "none" : "tanh");
}

at::Tensor activation_grad(Activation kind, const at::Tensor& grad, const at::Tensor& x) {
  if (kind == Activation::silu) return at::silu_backward(grad, x);
  return at::gelu_backward(grad, x, kind == Activation::gelu ? "none" : "tanh");
}

/// Returns the gradient of `gate` and, if `up` is defined, the gradient of `up`.
std::pair<at::Tensor, at::Tensor> gate_grads_here(Activation kind, const at::Tensor& grad,
                                                  const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor in = gate.contiguous();
  const at::Tensor grad_out = grad.contiguous();
  const at::Tensor factor = up.defined() ? up.contiguous() : up;
  std::pair<at::Tensor, at::Tensor> grads{at::empty_like(in), {}};
  kernels::GatedActivationGradArgs args{};
  args.gate = in.const_data_ptr<float>();
  args.grad = grad_out.const_data_ptr<float>();
  args.grad_gate = grads.first.mutable_data_ptr<float>();
  args.count = static_cast<std::size_t>(in.numel());
  args.kind = kernel_kind(kind);
  if (up.defined()) {
    grads.second = at::empty_like(factor);
    args.up = factor.const_data_ptr<float>();
    args.grad_up = grads.second.mutable_data_ptr<float>();
  }
  kernels::cpu::gated_activation_grad(args);
  return grads;
}

struct ActivationFunction : Function<ActivationFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, std::int64_t kind) {
    ctx->save_for_backward({x});
    ctx->saved_data["kind"] = kind;
    const auto activation = static_cast<Activation>(kind);
    return has_kernel(x) ? lm::gated_activation(activation, x, {}) : activated(activation, x);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto kind = static_cast<Activation>(ctx->saved_data["kind"].toInt());
    const at::Tensor x = ctx->get_saved_variables()[0];
    if (runs_here(x)) return {gate_grads_here(kind, grads[0], x, {}).first, {}};
    return {activation_grad(kind, grads[0], x), {}};
  }
};

struct GateFunction : Function<GateFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up,
                            std::int64_t kind) {
    ctx->save_for_backward({gate, up});
    ctx->saved_data["kind"] = kind;
    const auto activation = static_cast<Activation>(kind);
    return has_kernel(gate) ? lm::gated_activation(activation, gate, up)
                            : activated(activation, gate) * up;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();  // gate, up
    const auto kind = static_cast<Activation>(ctx->saved_data["kind"].toInt());
    if (runs_here(saved[0])) {
      const auto [grad_gate, grad_up] = gate_grads_here(kind, grads[0], saved[0], saved[1]);
      return {grad_gate, grad_up, {}};
    }
    return {activation_grad(kind, grads[0] * saved[1], saved[0]),
            grads[0] * activated(kind, saved[0]),
            {}};
  }
};

}  // namespace

at::Tensor gradient_of_leaf(const at::Tensor& weight) {
  return weight.is_leaf() ? weight.grad() : at::Tensor();
}

void say_gradient_added(const at::Tensor& weight) {
  const auto& hook = torch::autograd::impl::post_acc_grad_hooks(weight);
  if (hook) (*hook)(weight);
}

at::Tensor product(const at::Tensor& x, const at::Tensor& w, tensor::ComputeKind compute) {
  if (compute != tensor::ComputeKind::f32) {
    const at::ScalarType type = type_of(compute);
    if (tensor::runs_on_gpu(x))
      return tensor::wide_product(x.to(type), w.to(type)).to(x.scalar_type());
    return at::matmul(x.to(type), w.to(type).t()).to(x.scalar_type());
  }
  if (!runs_here(x)) return at::matmul(x, w.t());
  at::Tensor out = at::empty({x.size(0), w.size(0)}, x.options());
  multiply(x, w, out, false);
  return out;
}

void add_product(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w,
                 tensor::ComputeKind compute) {
  if (compute != tensor::ComputeKind::f32) {
    if (tensor::runs_on_gpu(out) && has_kernel(out))
      tensor::add_wide_product(out, x.to(type_of(compute)), w.to(type_of(compute)));
    else
      out.add_(product(x, w, compute));
  } else if (runs_here(x))
    multiply(x, w, out, true);
  else
    out.addmm_(x, w.t());
}

at::Tensor embed(const at::Tensor& table, const at::Tensor& ids) {
  return EmbedFunction::apply(table, ids);
}

at::Tensor embed_positions(const at::Tensor& table, const at::Tensor& positions) {
  return tensor::runs_on_gpu(table) ? embed(table, positions) : table.index_select(0, positions);
}

at::Tensor project(const at::Tensor& x, const Linear& linear, tensor::ComputeKind compute) {
  const at::Tensor out =
      ProductFunction::apply(x, linear.weight, static_cast<std::int64_t>(compute));
  return linear.bias.defined() ? out + linear.bias : out;
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  return RmsNormFunction::apply(x, weight, epsilon);
}

at::Tensor normalize(const LmConfig& config, const at::Tensor& x, const Norm& norm) {
  if (config.norm == NormKind::rms) return grad::rms_norm(x, norm.weight, config.norm_epsilon);
  return lm::normalize(config, x, norm);  // at::layer_norm(), which has a gradient
}

at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, const at::Tensor& weight,
                  double epsilon) {
  if (!weight.defined()) return RotateFunction::apply(x, rotation.cosine, rotation.sine);
  return NormedRotateFunction::apply(x, rotation.cosine, rotation.sine, weight, epsilon);
}

at::Tensor gated_activation(Activation kind, const at::Tensor& gate, const at::Tensor& up) {
  const auto number = static_cast<std::int64_t>(kind);
  return up.defined() ? GateFunction::apply(gate, up, number)
                      : ActivationFunction::apply(gate, number);
}

}  // namespace mgpu::lm::grad
