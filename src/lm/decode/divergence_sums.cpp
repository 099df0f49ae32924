#include "divergence_sums.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include <mgpu/tensor/read_back.hpp>

namespace mgpu::lm {
namespace {

std::span<const float> row_of(const at::Tensor& logits, std::int64_t row) {
  const auto width = static_cast<std::size_t>(logits.size(1));
  return {logits.const_data_ptr<float>() + static_cast<std::size_t>(row) * width, width};
}

/// Returns exp(logit - top). The result for a logit of -infinity is 0, even if `top` is -infinity.
double share_of(double logit, double top) {
  return logit == DivergenceSums::kNone ? 0.0 : std::exp(logit - top);
}

/// Returns exp(logit - top) as share_of() does.
/// Shapes: logits [n, B]; top [n, 1]; the result [n, B]
at::Tensor shares_of(const at::Tensor& logits, const at::Tensor& top) {
  return (logits - top).exp().masked_fill(logits == DivergenceSums::kNone, 0.0);
}

}  // namespace

void DivergenceSums::add(std::span<const float> of_model, std::span<const float> of_reference,
                         double temperature) {
  rebase(*std::ranges::max_element(of_model) / temperature,
         *std::ranges::max_element(of_reference) / temperature);
  for (std::size_t i = 0; i < of_model.size(); ++i) {
    const double logit = of_model[i] / temperature;
    const double other = of_reference[i] / temperature;
    const double weight = share_of(logit, top);
    sum += weight;
    if (weight > 0.0) gap += weight * (logit - other);  // an offset may make a logit -infinity
    reference_sum += share_of(other, reference_top);
  }
}

void DivergenceSums::add(const DivergenceSums& other) {
  rebase(other.top, other.reference_top);
  const double share = share_of(other.top, top);
  sum += other.sum * share;
  gap += other.gap * share;
  reference_sum += other.reference_sum * share_of(other.reference_top, reference_top);
}

double DivergenceSums::divergence() const {
  const double log_sum = top + std::log(sum);
  const double reference_log_sum = reference_top + std::log(reference_sum);
  const double value = gap / sum + (reference_log_sum - log_sum);
  return value < 0.0 ? 0.0 : value;  // rounding can give a value such as -1e-17; NaN is returned as
                                     // NaN
}

void DivergenceSums::rebase(double new_top, double new_reference_top) {
  if (new_top > top) {
    sum *= std::exp(top - new_top);
    gap *= std::exp(top - new_top);
    top = new_top;
  }
  if (new_reference_top > reference_top) {
    reference_sum *= std::exp(reference_top - new_reference_top);
    reference_top = new_reference_top;
  }
}

void add_by_rows(const at::Tensor& of_model, const at::Tensor& of_reference, double temperature,
                 std::span<DivergenceSums> rows) {
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const auto row = static_cast<std::int64_t>(n);
    rows[n].add(row_of(of_model, row), row_of(of_reference, row), temperature);
  }
}

void add_by_tensors(const at::Tensor& of_model, const at::Tensor& of_reference, double temperature,
                    std::span<DivergenceSums> rows) {
  const at::Tensor logits = of_model.to(at::kDouble) / temperature;
  const at::Tensor others = of_reference.to(at::kDouble) / temperature;
  const at::Tensor top = logits.amax(1, /*keepdim=*/true);
  const at::Tensor other_top = others.amax(1, /*keepdim=*/true);
  const at::Tensor weights = shares_of(logits, top);
  const at::Tensor gaps = (weights * (logits - others)).masked_fill(weights == 0.0, 0.0);
  const at::Tensor columns =
      tensor::read_back(at::cat({top, weights.sum(1, true), gaps.sum(1, true), other_top,
                                 shares_of(others, other_top).sum(1, true)},
                                1));  // [n, kDivergenceSums]
  const double* value = columns.const_data_ptr<double>();
  for (DivergenceSums& row : rows) {
    DivergenceSums block;
    block.top = value[0];
    block.sum = value[1];
    block.gap = value[2];
    block.reference_top = value[3];
    block.reference_sum = value[4];
    row.add(block);
    value += kDivergenceSums;
  }
}

}  // namespace mgpu::lm
