#include "rope.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include <ATen/ATen.h>

#include <mgpu/kernels/rotate_heads.hpp>
#include <mgpu/tensor/device_stream.hpp>

namespace mgpu::lm {
namespace {

at::TensorOptions float_options() {
  return at::TensorOptions().dtype(at::kFloat);
}

at::Tensor plain_frequencies(double theta, std::int64_t head_dim) {
  const at::Tensor exponents =
      at::arange(0, head_dim, 2, float_options()) / static_cast<double>(head_dim);
  return at::reciprocal(at::pow(at::Scalar(theta), exponents));
}

/// Returns theta of dynamic scaling (RopeKind::dynamic). For `length` up to `positions`, this is
/// rope.theta. For a larger `length`, theta grows with `length`.
double stretched_theta(const RopeConfig& rope, std::int64_t head_dim, std::int64_t positions,
                       std::int64_t length) {
  const double dim = static_cast<double>(head_dim);
  const double longest = static_cast<double>(positions);
  const double seen = static_cast<double>(std::max(length, positions));
  const double stretch = rope.factor * seen / longest - (rope.factor - 1.0);
  return rope.theta * std::pow(stretch, dim / (dim - 2.0));
}

/// Returns the frequencies of llama3 scaling, which keeps the frequencies of short wavelengths,
/// divides the frequencies of long wavelengths by `factor`, and blends the two results in between.
at::Tensor llama3_frequencies(const RopeConfig& rope, const at::Tensor& plain) {
  const double original = static_cast<double>(rope.original_positions);
  const double longest_wave = original / rope.low_freq_factor;
  const double shortest_wave = original / rope.high_freq_factor;
  const at::Tensor waves = 2.0 * std::numbers::pi / plain;
  const at::Tensor slow = plain / rope.factor;
  const at::Tensor share =
      (original / waves - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  const at::Tensor mixed = (1.0 - share) * slow + share * plain;
  return at::where(waves > longest_wave, slow, at::where(waves < shortest_wave, plain, mixed));
}

/// Returns the index of the pair of columns that makes `turns` full rotations within the original
/// context. The index may be fractional.
double yarn_column(const RopeConfig& rope, std::int64_t head_dim, double turns) {
  const double original = static_cast<double>(rope.original_positions);
  return static_cast<double>(head_dim) * std::log(original / (turns * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(rope.theta));
}

at::Tensor yarn_frequencies(const RopeConfig& rope, std::int64_t head_dim,
                            const at::Tensor& plain) {
  double low = yarn_column(rope, head_dim, rope.beta_fast);
  double high = yarn_column(rope, head_dim, rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(head_dim - 1));
  if (low == high) high += 0.001;
  const at::Tensor ramp =
      at::clamp((at::arange(head_dim / 2, float_options()) - low) / (high - low), 0.0, 1.0);
  return plain / rope.factor * ramp + plain * (1.0 - ramp);
}

}  // namespace

at::Tensor inverse_frequencies(const RopeConfig& rope, std::int64_t head_dim,
                               std::int64_t positions, std::int64_t length) {
  if (rope.kind == RopeKind::dynamic)
    return plain_frequencies(stretched_theta(rope, head_dim, positions, length), head_dim);
  const at::Tensor plain = plain_frequencies(rope.theta, head_dim);
  if (rope.kind == RopeKind::linear) return plain / rope.factor;
  if (rope.kind == RopeKind::llama3) return llama3_frequencies(rope, plain);
  if (rope.kind == RopeKind::yarn) return yarn_frequencies(rope, head_dim, plain);
  return plain;
}

Rotation make_rotation(const LmConfig& config, std::span<const RotatedSpan> spans,
                       const at::Tensor& like) {
  const std::int64_t half = config.head_dim / 2;
  std::int64_t tokens = 0;
  for (const RotatedSpan& span : spans)
    tokens += span.count;
  const at::Tensor cosine = at::empty({tokens, 1, half}, float_options());
  const at::Tensor sine = at::empty({tokens, 1, half}, float_options());
  float* cosines = cosine.mutable_data_ptr<float>();
  float* sines = sine.mutable_data_ptr<float>();
  std::map<std::int64_t, at::Tensor> by_length;
  for (const RotatedSpan& span : spans) {
    const std::int64_t length = config.rope.kind == RopeKind::dynamic ? span.length : 0;
    at::Tensor& frequencies = by_length[length];
    if (!frequencies.defined()) {
      frequencies = inverse_frequencies(config.rope, config.head_dim, config.max_positions, length);
    }
    const float* frequency = frequencies.const_data_ptr<float>();
    for (std::int64_t t = span.first; t < span.first + span.count; ++t) {
      for (std::int64_t c = 0; c < half; ++c) {
        const float angle = static_cast<float>(t) * frequency[c];
        *cosines++ =
            static_cast<float>(std::cos(static_cast<double>(angle)) * config.rope.attention_factor);
        *sines++ =
            static_cast<float>(std::sin(static_cast<double>(angle)) * config.rope.attention_factor);
      }
    }
  }
  return {cosine.to(like.device()), sine.to(like.device())};
}

at::Tensor rotate(const at::Tensor& x, const Rotation& rotation, const at::Tensor& weight,
                  double epsilon) {
  const at::Tensor input = x.contiguous();
  at::Tensor out = at::empty_like(input);
  const kernels::RotateHeadsArgs args{input.const_data_ptr<float>(),
                                      weight.defined() ? weight.const_data_ptr<float>() : nullptr,
                                      rotation.cosine.const_data_ptr<float>(),
                                      rotation.sine.const_data_ptr<float>(),
                                      out.mutable_data_ptr<float>(),
                                      static_cast<std::size_t>(x.size(0)),
                                      static_cast<std::size_t>(x.size(1)),
                                      static_cast<std::size_t>(x.size(2)),
                                      static_cast<float>(epsilon)};
  if (tensor::runs_on_gpu(x))
    kernels::cuda::rotate_heads(args, tensor::current_stream(x));
  else
    kernels::cpu::rotate_heads(args);
  return out;
}

}  // namespace mgpu::lm
