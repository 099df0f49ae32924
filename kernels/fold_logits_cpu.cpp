// A row at a time: its largest logit, the sum of the exponentials, and an insertion into the
// sorted best for the few logits that are larger than the last of them.
#include <algorithm>
#include <cmath>
#include <limits>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/fold_logits.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fold_logits_cpu.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

/// The logits from `i` on in one vector, filled up with -infinity.
Vector load(const float* logits, std::size_t i, std::size_t count) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  if (i + lanes <= count) return hn::LoadU(d, logits + i);
  HWY_ALIGN float last[16];
  std::fill_n(last, lanes, -INFINITY);
  std::copy_n(logits + i, count - i, last);
  return hn::Load(d, last);
}

/// hn::Exp makes 0 of NaN, and hn::Max may lose it: whoever wants to know has to ask.
bool has_nan(const float* logits, std::size_t count) {
  const Floats d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d))
    if (!hn::AllFalse(d, hn::IsNaN(load(logits, i, count)))) return true;
  return false;
}

/// NaN does not count.
float largest(const float* logits, std::size_t count) {
  const Floats d;
  const Vector lowest = hn::Set(d, -INFINITY);
  Vector tops = lowest;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const Vector next = load(logits, i, count);
    tops = hn::Max(tops, hn::IfThenElse(hn::IsNaN(next), lowest, next));
  }
  return hn::GetLane(hn::MaxOfLanes(d, tops));
}

float exp_sum(const float* logits, std::size_t count, float top) {
  const Floats d;
  Vector sums = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d))
    sums = hn::Add(sums, hn::Exp(d, hn::Sub(load(logits, i, count), hn::Set(d, top))));
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

/// Puts a logit into the sorted best, if it is larger than the last. Tokens come in ascending
/// order, so an equal one belongs behind those that are there.
void insert(const FoldLogitsArgs& args, std::size_t n, float logit, std::int64_t id) {
  float* logits = args.best_logits + n * args.best;
  std::int64_t* ids = args.best_ids + n * args.best;
  if (!(logit > logits[args.best - 1]) && ids[args.best - 1] >= 0) return;
  if (std::isnan(logit)) return;
  std::size_t place = args.best - 1;
  for (; place > 0 && (ids[place - 1] < 0 || logits[place - 1] < logit); --place) {
    logits[place] = logits[place - 1];
    ids[place] = ids[place - 1];
  }
  logits[place] = logit;
  ids[place] = id;
}

constexpr std::size_t kMaxSections = 16;

/// A logit that at least `count` of a block's are not below: the smallest of the tops of as many
/// disjoint parts, each a lane of a section of vectors. -infinity where there are too few parts.
float floor_of_best(const float* logits, std::size_t block, std::size_t count) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t sections = (count + lanes - 1) / lanes;
  const std::size_t vectors = block / lanes / sections;  // of a section
  if (sections > kMaxSections || vectors < 2) return -INFINITY;
  Vector lowest = hn::Set(d, INFINITY);
  for (std::size_t s = 0; s < sections; ++s) {
    const float* section = logits + s * vectors * lanes;
    Vector tops = hn::Set(d, -INFINITY);
    for (std::size_t v = 0; v < vectors; ++v) {
      const Vector next = hn::LoadU(d, section + v * lanes);
      tops = hn::IfThenElse(hn::Gt(next, tops), next, tops);  // NaN is not greater
    }
    lowest = hn::Min(lowest, tops);
  }
  return hn::GetLane(hn::MinOfLanes(d, lowest));
}

/// Inserts what is better than the last of the best and may be among the best of the block: of
/// most vectors nothing.
void insert_better(const FoldLogitsArgs& args, std::size_t n, const float* logits) {
  const Floats d;
  const float* last_logit = args.best_logits + (n + 1) * args.best - 1;
  const std::int64_t* last_id = args.best_ids + (n + 1) * args.best - 1;
  const float floor = floor_of_best(logits, args.block, args.best);
  for (std::size_t i = 0; i < args.block; i += hn::Lanes(d)) {
    const bool is_full = *last_id >= 0;
    const Vector next = load(logits, i, args.block);
    const auto is_near = hn::Ge(next, hn::Set(d, floor));
    const auto is_better = hn::Gt(next, hn::Set(d, *last_logit));
    if (hn::AllFalse(d, is_full ? hn::And(is_near, is_better) : is_near)) continue;
    const std::size_t end = std::min(i + hn::Lanes(d), args.block);
    for (std::size_t j = i; j < end; ++j)
      if (logits[j] >= floor)
        insert(args, n, logits[j], args.first_id + static_cast<std::int64_t>(j));
  }
}

}  // namespace

void fold_rows(const FoldLogitsArgs& args) {
  for (std::size_t n = 0; n < args.rows; ++n) {
    const float* logits = args.logits + n * args.block;
    const float old = args.tops[n];
    const float top = std::max(old, largest(logits, args.block));
    if (top > -INFINITY) {
      args.sums[n] = args.sums[n] * std::exp(old - top) + exp_sum(logits, args.block, top);
      args.tops[n] = top;
    }
    if (has_nan(logits, args.block)) args.sums[n] = std::numeric_limits<float>::quiet_NaN();
    if (args.targets != nullptr) {
      const std::int64_t place = args.targets[n] - args.first_id;
      if (place >= 0 && static_cast<std::size_t>(place) < args.block)
        args.picked[n] = logits[place];
    }
    if (args.best > 0) insert_better(args, n, logits);
  }
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(fold_rows);

void fold_logits(const FoldLogitsArgs& args) {
  if (args.best > kMaxBest) throw ShapeError("fold_logits: more than 1024 best are asked for");
  HWY_DYNAMIC_DISPATCH(fold_rows)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
