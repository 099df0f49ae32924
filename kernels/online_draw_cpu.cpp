#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <mgpu/kernels/online_draw.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "online_draw_cpu.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = hn::CappedTag<double, 8>;
using Vector = hn::Vec<Doubles>;

/// Returns the largest score as a double.
double largest(std::span<const float> scores) {
  const hn::CappedTag<float, 16> d;
  const std::size_t whole = scores.size() / hn::Lanes(d) * hn::Lanes(d);
  auto tops = hn::Set(d, -INFINITY);
  for (std::size_t i = 0; i < whole; i += hn::Lanes(d))
    tops = hn::Max(tops, hn::LoadU(d, scores.data() + i));
  float top = hn::GetLane(hn::MaxOfLanes(d, tops));
  for (std::size_t i = whole; i < scores.size(); ++i)
    top = std::max(top, scores[i]);
  return top;
}

/// Returns exp(score - top) for the scores from `i` on, and 0 in the lanes after the last score.
Vector weights_at(std::span<const float> scores, std::size_t i, double top) {
  const Doubles d;
  const hn::Rebind<float, Doubles> floats;
  const Vector shift = hn::Set(d, top);
  if (i + hn::Lanes(d) <= scores.size())
    return hn::Exp(d, hn::Sub(hn::PromoteTo(d, hn::LoadU(floats, scores.data() + i)), shift));
  HWY_ALIGN float last[8];
  std::fill_n(last, 8, -INFINITY);
  std::copy(scores.begin() + static_cast<std::ptrdiff_t>(i), scores.end(), last);
  return hn::Exp(d, hn::Sub(hn::PromoteTo(d, hn::Load(floats, last)), shift));
}

/// Returns the sum of the weights exp(score - top).
double sum_of_weights(std::span<const float> scores, double top) {
  const Doubles d;
  Vector sums = hn::Zero(d);
  for (std::size_t i = 0; i < scores.size(); i += hn::Lanes(d))
    sums = hn::Add(sums, weights_at(scores, i, top));
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

/// Returns the index of the first score at which the sum of weights exp(score - top) exceeds `aim`.
/// If the sum never exceeds `aim`, returns the index of the last positive weight.
std::size_t place_in(std::span<const float> scores, double top, double aim) {
  const Doubles d;
  std::size_t place = 0;
  double reached = 0.0;
  for (std::size_t i = 0; i < scores.size(); i += hn::Lanes(d)) {
    HWY_ALIGN double weights[8];
    hn::Store(weights_at(scores, i, top), d, weights);
    for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
      if (weights[lane] > 0.0) place = i + lane;
      reached += weights[lane];
      if (reached > aim) return place;
    }
  }
  return place;
}

void draw_row(const OnlineDrawArgs& args, std::size_t n) {
  const std::span scores(args.scores + n * args.block, args.block);
  const double block_top = largest(scores);
  if (block_top == -std::numeric_limits<double>::infinity()) return;
  const double top = std::max(args.tops[n], block_top);
  const double block_sum = sum_of_weights(scores, top);
  args.sums[n] = args.sums[n] * std::exp(args.tops[n] - top) + block_sum;
  args.tops[n] = top;
  if (!(args.uniforms[2 * n] * args.sums[n] < block_sum)) return;
  const std::size_t place = place_in(scores, top, args.uniforms[2 * n + 1] * block_sum);
  args.ids[n] = args.first_id + static_cast<std::int64_t>(place);
  args.picked[n] = args.logits[n * args.block + place];
}

}  // namespace

void draw_rows(const OnlineDrawArgs& args) {
  for (std::size_t n = 0; n < args.rows; ++n)
    draw_row(args, n);
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(draw_rows);

void online_draw(const OnlineDrawArgs& args) {
  if (args.block == 0) return;
  HWY_DYNAMIC_DISPATCH(draw_rows)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
