#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>

namespace mgpu::kernels::cpu {
namespace {

using Row = std::span<const float>;

/// Adds prediction n to the sums. If args.grad is not nullptr, also writes row n of args.grad.
void one_prediction(const CrossEntropyArgs& args, std::size_t n, CrossEntropySums& sums) {
  const Row row(args.logits + n * args.classes, args.classes);
  float* grad = args.grad == nullptr ? nullptr : args.grad + n * args.classes;
  const std::int64_t target = args.targets[n];
  if (target == kIgnoreTarget) {
    if (grad != nullptr) std::fill_n(grad, args.classes, 0.0F);
    return;
  }
  ++sums.count;
  if (target < 0 || static_cast<std::size_t>(target) >= args.classes) {
    sums.loss = std::numeric_limits<double>::quiet_NaN();
    if (grad != nullptr) std::fill_n(grad, args.classes, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  const auto top = std::max_element(row.begin(), row.end());
  const auto aim = static_cast<std::size_t>(target);
  if (top - row.begin() == target) ++sums.correct;
  double exp_sum = 0.0;
  double logit_sum = 0.0;
  for (const float logit : row) {
    exp_sum += std::exp(logit - *top);
    logit_sum += logit - *top;
  }
  const double log_sum = std::log(exp_sum);
  const double share = static_cast<double>(args.label_smoothing) / static_cast<double>(row.size());
  const double whole = 1.0 - static_cast<double>(args.label_smoothing);
  sums.loss += log_sum - whole * (row[aim] - *top) - share * logit_sum;
  if (grad == nullptr) return;
  for (std::size_t a = 0; a < row.size(); ++a) {
    const double p = std::exp(row[a] - *top) / exp_sum;
    grad[a] = args.grad_scale * static_cast<float>(p - share - (a == aim ? whole : 0.0));
  }
}

}  // namespace

void cross_entropy(const CrossEntropyArgs& args) {
  if (args.predictions > 0 && args.classes == 0) throw ShapeError("cross_entropy: A = 0");
  CrossEntropySums total;
  for (std::size_t begin = 0; begin < args.predictions; begin += kCrossEntropyBlock) {
    CrossEntropySums sums;
    for (std::size_t n = begin; n < std::min(begin + kCrossEntropyBlock, args.predictions); ++n)
      one_prediction(args, n, sums);
    args.block_sums[begin / kCrossEntropyBlock] = sums;
    total.loss += sums.loss;
    total.count += sums.count;
    total.correct += sums.correct;
  }
  *args.out = total;
}

}  // namespace mgpu::kernels::cpu
