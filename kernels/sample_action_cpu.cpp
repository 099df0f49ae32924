#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/sample_action.hpp>

namespace mgpu::kernels::cpu {
namespace {

/// Returns the largest logit of a row; NaN if any of its logits is NaN.
float row_top(std::span<const float> row) {
  float top = -std::numeric_limits<float>::infinity();
  for (const float logit : row) {
    if (std::isnan(logit)) return logit;
    top = std::max(top, logit);
  }
  return top;
}

std::int64_t draw(std::span<const float> row, float uniform) {
  const float top = row_top(row);
  if (!std::isfinite(top)) return kNoAction;
  double sum = 0.0;
  for (const float logit : row)
    sum += std::exp(static_cast<double>(logit) - top);
  const double aim = uniform * sum;
  double reached = 0.0;
  std::int64_t last = kNoAction;
  for (std::size_t a = 0; a < row.size() && reached <= aim; ++a) {
    const double weight = std::exp(static_cast<double>(row[a]) - top);
    if (weight > 0.0) last = static_cast<std::int64_t>(a);
    reached += weight;
  }
  return last;
}

}  // namespace

void sample_action(const SampleActionArgs& args) {
  if (args.rows > 0 && args.classes == 0) throw ShapeError("sample_action: A = 0");
  for (std::size_t n = 0; n < args.rows; ++n)
    args.actions[n] = draw({args.logits + n * args.classes, args.classes}, args.uniforms[n]);
}

}  // namespace mgpu::kernels::cpu
