#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/adamw_step.hpp>
#include <mgpu/kernels/squared_norm.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>
#include <mgpu/train/adamw.hpp>

namespace mgpu::train {

Adamw::Adamw(tensor::ParameterArena& parameters, const AdamwConfig& config)
    : parameters_(&parameters), config_(config) {
  const at::Tensor& weights = parameters.weights();
  if (weights.scalar_type() != at::kFloat) throw Error("AdamW keeps master weights in float32");
  m_ = at::zeros_like(weights);
  v_ = at::zeros_like(weights);
  const auto blocks = (weights.numel() - 1) / static_cast<std::int64_t>(kernels::kNormBlock) + 1;
  norm_scratch_ = at::zeros({blocks + 1}, weights.options().dtype(at::kDouble));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::int64_t begin = parameters.span(i).begin;
    const std::int64_t end =
        i + 1 < parameters.size() ? parameters.span(i + 1).begin : weights.numel();
    const bool decays = parameters.spec(i).decays;
    if (!spans_.empty() && spans_.back().decays == decays)
      spans_.back().count += end - begin;
    else
      spans_.push_back({begin, end - begin, decays});
  }
}

double Adamw::squared_gradient_norm() {
  const at::Tensor& gradients = parameters_->gradients();
  auto* scratch = norm_scratch_.mutable_data_ptr<double>();
  double* total = scratch + norm_scratch_.numel() - 1;
  const kernels::SquaredNormArgs args{gradients.const_data_ptr<float>(),
                                      static_cast<std::size_t>(gradients.numel()), scratch, total};
  if (tensor::runs_on_gpu(gradients))
    kernels::cuda::squared_norm(args, tensor::current_stream(gradients));
  else
    kernels::cpu::squared_norm(args);
  return tensor::read_value<double>(norm_scratch_[norm_scratch_.numel() - 1]);
}

/// Updates the weights of the spans [first, first + count). On the CPU, `count` must be 1, because
/// the CPU kernel applies the same weight decay to all weights of a call.
void Adamw::update(std::size_t first, std::size_t count, float learning_rate, float grad_scale) {
  const Span& span = spans_[first];
  const Span& last = spans_[first + count - 1];
  const auto t = static_cast<double>(updates_);
  kernels::AdamwArgs args{};
  args.weights = parameters_->weights().mutable_data_ptr<float>() + span.begin;
  args.grads = parameters_->gradients().const_data_ptr<float>() + span.begin;
  args.m = m_.mutable_data_ptr<float>() + span.begin;
  args.v = v_.mutable_data_ptr<float>() + span.begin;
  args.count = static_cast<std::size_t>(last.begin + last.count - span.begin);
  args.learning_rate = learning_rate;
  args.beta1 = static_cast<float>(config_.beta1);
  args.beta2 = static_cast<float>(config_.beta2);
  args.epsilon = static_cast<float>(config_.epsilon);
  args.weight_decay = static_cast<float>(config_.weight_decay);
  args.grad_scale = grad_scale;
  args.correction1 = static_cast<float>(1.0 - std::pow(config_.beta1, t));
  args.correction2 = static_cast<float>(1.0 - std::pow(config_.beta2, t));
  if (!tensor::runs_on_gpu(m_)) {
    if (!span.decays) args.weight_decay = 0.0F;
    return kernels::cpu::adamw_step(args);
  }
  kernels::AdamwRuns runs{count, span.decays, {}};
  for (std::size_t s = 0; s < count; ++s)
    runs.ends[s] =
        static_cast<std::size_t>(spans_[first + s].begin + spans_[first + s].count - span.begin);
  kernels::cuda::adamw_step(args, runs, tensor::current_stream(m_));
}

UpdateReport Adamw::step(double learning_rate, double grad_scale, const Agree& agree) {
  const double norm = std::sqrt(squared_gradient_norm()) * grad_scale;
  const bool is_finite = std::isfinite(norm);
  if (!(agree ? agree(is_finite) : is_finite)) return {norm, false};
  const bool clips = config_.max_grad_norm > 0.0 && norm > config_.max_grad_norm;
  const double scale = clips ? grad_scale * config_.max_grad_norm / norm : grad_scale;
  ++updates_;
  const std::size_t at_once = tensor::runs_on_gpu(m_) ? kernels::kMaxAdamwRuns : 1;
  for (std::size_t first = 0; first < spans_.size(); first += at_once)
    update(first, std::min(at_once, spans_.size() - first), static_cast<float>(learning_rate),
           static_cast<float>(scale));
  return {norm, true};
}

}  // namespace mgpu::train
