#include "guide_offsets.hpp"

#include <cmath>
#include <cstddef>
#include <span>

#include <ATen/ATen.h>

#include <mgpu/tensor/device_stream.hpp>

namespace mgpu::lm {
namespace {

at::Tensor softplus_of(const at::Tensor& z) {
  return z.clamp_min(0.0) + z.abs().neg().exp().log1p();
}

/// Returns the atoms of a histogram, [O] float64 on the device of `like`. The atom of an output is
/// the return (sum of rewards) whose probability the output predicts.
at::Tensor atoms_of(const ValueHead& head, const at::Tensor& like) {
  const at::Tensor indices = at::arange(head.outputs, like.options().dtype(at::kDouble));
  if (head.outputs == 1) return indices + head.lowest;
  return indices * (head.highest - head.lowest) / static_cast<double>(head.outputs - 1) +
         head.lowest;
}

/// Returns the log odds z, [M], clamped so that the odds exp(z) are within min_odds and max_odds of
/// `settings`.
at::Tensor log_odds_of(const GuideSettings& settings, at::Tensor z) {
  if (settings.min_odds > 0.0) z = z.clamp_min(std::log(settings.min_odds));
  return z.clamp_max(std::log(settings.max_odds));
}

/// Returns the expected return E[R] for each row of outputs z, [M].
at::Tensor expected_returns(const ValueHead& head, const at::Tensor& z) {
  if (head.kind == ValueKind::expectation) return z.select(1, 0);
  if (head.kind == ValueKind::bernoulli) return z.select(1, 0).sigmoid();
  return z.softmax(1).matmul(atoms_of(head, z));
}

/// Returns log E[exp(R / eta)] for each row of outputs z, [M]. `strength` is 1 / eta. The formulas
/// are those of log_mean_exp() in value_guide.cpp.
at::Tensor log_mean_exps(const ValueHead& head, const at::Tensor& z, double strength) {
  if (head.kind == ValueKind::histogram)
    return (z + atoms_of(head, z) * strength).logsumexp({1}) - z.logsumexp({1});
  const at::Tensor first = z.select(1, 0);
  const at::Tensor below = softplus_of(first + strength) - softplus_of(first);
  const at::Tensor above = softplus_of(-first - strength) - softplus_of(-first) + strength;
  return at::where(first <= 0.0, below, above);
}

}  // namespace

at::Tensor guide_offsets(const GuideSettings& settings, const ValueHead& head,
                         const at::Tensor& outputs) {
  return tensor::runs_on_gpu(outputs) ? guide_offsets_by_tensors(settings, head, outputs)
                                      : guide_offsets_by_rows(settings, head, outputs);
}

at::Tensor guide_offsets_by_rows(const GuideSettings& settings, const ValueHead& head,
                                 const at::Tensor& outputs) {
  const at::Tensor exact = outputs.to(at::kDouble).contiguous();  // [M, O]
  const auto width = static_cast<std::size_t>(exact.size(1));
  const std::span<const double> values(exact.const_data_ptr<double>(),
                                       static_cast<std::size_t>(exact.numel()));
  at::Tensor result = at::empty({exact.size(0)}, at::kFloat);
  auto* offset = result.mutable_data_ptr<float>();
  for (std::size_t i = 0; i < values.size(); i += width)
    *offset++ = static_cast<float>(guide_offset(settings, head, values.subspan(i, width)));
  return result;
}

at::Tensor guide_offsets_by_tensors(const GuideSettings& settings, const ValueHead& head,
                                    const at::Tensor& outputs) {
  const double strength = 1.0 / settings.eta;
  const at::Tensor z = outputs.to(at::kDouble);  // [M, O]
  if (settings.kind == GuideKind::qsharp) return log_mean_exps(head, z, strength).to(at::kFloat);
  at::Tensor values;  // [M]
  if (settings.kind == GuideKind::cd)
    values = expected_returns(head, z);
  else
    values =
        head.kind == ValueKind::bernoulli ? log_odds_of(settings, z.select(1, 0)) : z.select(1, 0);
  return (values * strength).to(at::kFloat);
}

}  // namespace mgpu::lm
