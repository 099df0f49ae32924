// For each row, this kernel computes the largest logit and the sum of the exponentials. It also
// collects the few logits that may be among the best (the K largest), and sorts them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/online_logsumexp.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "online_logsumexp_cpu.cpp"
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

/// Returns the logits from `i` on as one vector, padded with -infinity.
Vector load(const float* logits, std::size_t i, std::size_t count) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  if (i + lanes <= count) return hn::LoadU(d, logits + i);
  HWY_ALIGN float last[16];
  std::fill_n(last, lanes, -INFINITY);
  std::copy_n(logits + i, count - i, last);
  return hn::Load(d, last);
}

/// Returns whether any logit is NaN. The sum of the exponentials does not show this reliably,
/// because hn::Exp turns NaN into 0.
bool has_nan(const float* logits, std::size_t count) {
  const Floats d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d))
    if (!hn::AllFalse(d, hn::IsNaN(load(logits, i, count)))) return true;
  return false;
}

/// Returns the largest logit, ignoring NaN.
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

struct Candidate {
  float logit;
  std::int64_t id;

  /// Returns whether `a` is the better candidate: it has the larger logit, or an equal logit and
  /// the lower id.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  }
};

constexpr std::size_t kMaxSections = 16;

/// Returns a lower bound for the `count` best logits of a block. The function splits the block into
/// `count` or more parts, and returns the smallest of the parts' maxima. So at least `count` logits
/// are not below the result. A part is one lane of a section, which is a range of vectors. The
/// result is -infinity if there would be more than kMaxSections sections, or fewer than two vectors
/// per section.
float floor_of_best(const float* logits, std::size_t block, std::size_t count) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t sections = (count + lanes - 1) / lanes;
  const std::size_t vectors = block / lanes / sections;  // number per section
  if (sections > kMaxSections || vectors < 2) return -INFINITY;
  Vector lowest = hn::Set(d, INFINITY);
  for (std::size_t s = 0; s < sections; ++s) {
    const float* section = logits + s * vectors * lanes;
    Vector tops = hn::Set(d, -INFINITY);
    for (std::size_t v = 0; v < vectors; ++v) {
      const Vector next = hn::LoadU(d, section + v * lanes);
      tops = hn::IfThenElse(hn::Gt(next, tops), next, tops);  // NaN never compares greater
    }
    lowest = hn::Min(lowest, tops);
  }
  return hn::GetLane(hn::MinOfLanes(d, lowest));
}

/// Adds to `candidates` the logits that may be among the best of the block. If row n already has K
/// best logits from earlier blocks, a candidate must also exceed the smallest of these. Most
/// vectors have no candidates. A NaN is never a candidate.
void add_candidates(const OnlineLogsumexpArgs& args, std::size_t n, const float* logits,
                    std::vector<Candidate>& candidates) {
  const Floats d;
  const std::size_t last = (n + 1) * args.best - 1;
  const bool is_full = args.best_ids[last] >= 0;
  const Vector least = hn::Set(d, is_full ? args.best_logits[last] : -INFINITY);
  const Vector floor = hn::Set(d, floor_of_best(logits, args.block, args.best));
  for (std::size_t i = 0; i < args.block; i += hn::Lanes(d)) {
    const Vector next = load(logits, i, args.block);
    auto is_near = hn::Ge(next, floor);
    if (is_full) is_near = hn::And(is_near, hn::Gt(next, least));
    if (hn::AllFalse(d, is_near)) continue;
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, is_near, bits);
    for (unsigned left = bits[0] | (unsigned{bits[1]} << 8U); left != 0; left &= left - 1) {
      const std::size_t place = i + static_cast<std::size_t>(std::countr_zero(left));
      if (place < args.block)
        candidates.push_back({logits[place], args.first_id + static_cast<std::int64_t>(place)});
    }
  }
}

/// On entry, row n has the best logits of earlier blocks. Replaces them by the best logits of all
/// blocks so far, sorted.
void merge_best(const OnlineLogsumexpArgs& args, std::size_t n, const float* logits,
                std::vector<Candidate>& candidates) {
  candidates.clear();
  float* best_logits = args.best_logits + n * args.best;
  std::int64_t* best_ids = args.best_ids + n * args.best;
  for (std::size_t b = 0; b < args.best && best_ids[b] >= 0; ++b)
    candidates.push_back({best_logits[b], best_ids[b]});
  const std::size_t known = candidates.size();
  add_candidates(args, n, logits, candidates);
  if (candidates.size() == known) return;
  const std::size_t kept = std::min(args.best, candidates.size());
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(kept);
  if (end != candidates.end()) std::nth_element(candidates.begin(), end, candidates.end());
  std::sort(candidates.begin(), end);
  for (std::size_t b = 0; b < kept; ++b) {
    best_logits[b] = candidates[b].logit;
    best_ids[b] = candidates[b].id;
  }
}

}  // namespace

void fold_rows(const OnlineLogsumexpArgs& args) {
  std::vector<Candidate> candidates;
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
    if (args.best > 0) merge_best(args, n, logits, candidates);
  }
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(fold_rows);

void online_logsumexp(const OnlineLogsumexpArgs& args) {
  if (args.best > kMaxBest) throw ShapeError("online_logsumexp: more than 1024 best are asked for");
  HWY_DYNAMIC_DISPATCH(fold_rows)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
