#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <mgpu/kernels/online_draw.hpp>

namespace mgpu::kernels::cpu {
namespace {

/// Returns the index of the first score at which the sum of weights exp(score - top) exceeds `aim`.
/// If the sum never does, returns the index of the last positive weight.
std::size_t place_in(std::span<const float> scores, double top, double aim) {
  std::size_t place = 0;
  double reached = 0.0;
  for (std::size_t i = 0; i < scores.size() && reached <= aim; ++i) {
    const double weight = std::exp(static_cast<double>(scores[i]) - top);
    if (weight > 0.0) place = i;
    reached += weight;
  }
  return place;
}

void draw_row(const OnlineDrawArgs& args, std::size_t n) {
  const std::span scores(args.scores + n * args.block, args.block);
  const double block_top = *std::max_element(scores.begin(), scores.end());
  if (block_top == -std::numeric_limits<double>::infinity()) return;
  const double top = std::max(args.tops[n], block_top);
  double block_sum = 0.0;
  for (const float score : scores)
    block_sum += std::exp(static_cast<double>(score) - top);
  args.sums[n] = args.sums[n] * std::exp(args.tops[n] - top) + block_sum;
  args.tops[n] = top;
  if (!(args.uniforms[2 * n] * args.sums[n] < block_sum)) return;
  const std::size_t place = place_in(scores, top, args.uniforms[2 * n + 1] * block_sum);
  args.ids[n] = args.first_id + static_cast<std::int64_t>(place);
  args.picked[n] = args.logits[n * args.block + place];
}

}  // namespace

void online_draw(const OnlineDrawArgs& args) {
  if (args.block == 0) return;
  for (std::size_t n = 0; n < args.rows; ++n)
    draw_row(args, n);
}

}  // namespace mgpu::kernels::cpu
