// One query and one key head at a time: each key and each value is loaded once for all query
// heads that share it. Scores: lanes are the head's columns; softmax: lanes are keys; products
// with values: lanes are columns, keys in their order.
#include <algorithm>
#include <cmath>

#include <hwy/aligned_allocator.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/paged_attention.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paged_attention_cpu.cpp"
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

std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// The keys that one query sees, and where they lie.
class Visible {
public:
  Visible(const PagedAttentionArgs& args, std::size_t n)
      : args_(args),
        pages_(args.page_slots + static_cast<std::size_t>(args.sequences[n]) * args.page_pitch),
        end_(static_cast<std::size_t>(args.positions[n]) + 1) {
    const auto window = static_cast<std::size_t>(args.window);
    first_ = window == 0 || end_ <= window ? 0 : end_ - window;
  }

  std::size_t size() const { return end_ - first_; }

  /// Calls visit(key number from 0, slot) in the order of the keys.
  template <class Visit>
  void for_each(Visit visit) const {
    std::size_t j = 0;
    for (std::size_t t = first_; t < end_;) {
      const std::size_t inside = t % args_.page_tokens;
      auto slot = static_cast<std::size_t>(pages_[t / args_.page_tokens]) + inside;
      const std::size_t stop = std::min(end_, t - inside + args_.page_tokens);
      for (; t < stop; ++t)
        visit(j++, slot++);
    }
  }

private:
  const PagedAttentionArgs& args_;
  const std::int64_t* pages_;
  std::size_t first_;
  std::size_t end_;
};

/// Padded copies, so that no vector is partial.
class Buffers {
public:
  explicit Buffers(const PagedAttentionArgs& args, std::size_t longest)
      : lanes(hn::Lanes(Floats())),
        shared(args.heads / args.kv_heads),
        columns(round_up(args.head_dim, lanes)),
        score_pitch(round_up(longest, lanes)),
        memory_(hwy::AllocateAligned<float>(total())) {
    std::fill_n(memory_.get(), total(), 0.0F);
    queries = memory_.get();
    sums = queries + shared * columns;
    scores = sums + shared * columns;
    line = scores + shared * score_pitch;
    totals = line + columns;
  }

  const std::size_t lanes;
  const std::size_t shared;  // query heads per key head
  const std::size_t columns;
  const std::size_t score_pitch;
  float* queries;  // [shared, columns]
  float* sums;     // [shared, columns]
  float* scores;   // [shared, score_pitch]
  float* line;     // [columns] one key or value
  float* totals;   // [shared] sums of the exponentials

private:
  std::size_t total() const { return shared * (2 * columns + score_pitch) + columns + shared; }

  hwy::AlignedFreeUniquePtr<float[]> memory_;
};

/// The line itself where it fills its vectors, else the padded copy.
const float* padded(const Buffers& b, const float* from, std::size_t head_dim) {
  if (head_dim == b.columns) return from;
  std::copy_n(from, head_dim, b.line);
  return b.line;
}

void score_keys(const PagedAttentionArgs& args, const Buffers& b, const Visible& visible,
                std::size_t group) {
  const Floats d;
  visible.for_each([&](std::size_t j, std::size_t slot) {
    const std::size_t at = (slot * args.kv_heads + group) * args.head_dim;
    const float* key = padded(b, args.keys + at, args.head_dim);
    for (std::size_t h = 0; h < b.shared; ++h) {
      const float* query = b.queries + h * b.columns;
      Vector sum = hn::Zero(d);
      for (std::size_t c = 0; c < b.columns; c += b.lanes)
        sum = hn::MulAdd(hn::Load(d, query + c), hn::LoadU(d, key + c), sum);
      b.scores[h * b.score_pitch + j] = hn::GetLane(hn::SumOfLanes(d, sum)) * args.scale;
    }
  });
}

/// Scores -> exp(score - largest), and their sum. Lanes past the end become 0.
float softmax(const Buffers& b, std::size_t count, float* scores) {
  const Floats d;
  const std::size_t end = round_up(count, b.lanes);
  std::fill(scores + count, scores + end, -INFINITY);
  Vector tops = hn::Set(d, -INFINITY);
  for (std::size_t j = 0; j < end; j += b.lanes)
    tops = hn::Max(tops, hn::Load(d, scores + j));
  const Vector top = hn::MaxOfLanes(d, tops);
  Vector sums = hn::Zero(d);
  for (std::size_t j = 0; j < end; j += b.lanes) {
    const Vector shifted = hn::Sub(hn::Load(d, scores + j), top);
    // hn::Exp makes 0 of NaN.
    const Vector e = hn::IfThenElse(hn::IsNaN(shifted), shifted, hn::Exp(d, shifted));
    sums = hn::Add(sums, e);
    hn::Store(e, d, scores + j);
  }
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

void add_values(const PagedAttentionArgs& args, const Buffers& b, const Visible& visible,
                std::size_t group) {
  const Floats d;
  std::fill_n(b.sums, b.shared * b.columns, 0.0F);
  visible.for_each([&](std::size_t j, std::size_t slot) {
    const std::size_t at = (slot * args.kv_heads + group) * args.head_dim;
    const float* value = padded(b, args.values + at, args.head_dim);
    for (std::size_t h = 0; h < b.shared; ++h) {
      const Vector weight = hn::Set(d, b.scores[h * b.score_pitch + j]);
      float* sum = b.sums + h * b.columns;
      for (std::size_t c = 0; c < b.columns; c += b.lanes)
        hn::Store(hn::MulAdd(weight, hn::LoadU(d, value + c), hn::Load(d, sum + c)), d, sum + c);
    }
  });
}

void attend(const PagedAttentionArgs& args, const Buffers& b, std::size_t n, std::size_t group) {
  const Visible visible(args, n);
  const std::size_t first = (n * args.heads + group * b.shared) * args.head_dim;
  for (std::size_t h = 0; h < b.shared; ++h)
    std::copy_n(args.queries + first + h * args.head_dim, args.head_dim, b.queries + h * b.columns);
  score_keys(args, b, visible, group);
  for (std::size_t h = 0; h < b.shared; ++h)
    b.totals[h] = softmax(b, visible.size(), b.scores + h * b.score_pitch);
  add_values(args, b, visible, group);
  for (std::size_t h = 0; h < b.shared; ++h)
    for (std::size_t c = 0; c < args.head_dim; ++c)
      args.out[first + h * args.head_dim + c] = b.sums[h * b.columns + c] / b.totals[h];
}

}  // namespace

void attend_queries(const PagedAttentionArgs& args) {
  std::int64_t longest = 0;
  for (std::size_t n = 0; n < args.num_queries; ++n)
    longest = std::max(longest, args.positions[n] + 1);
  if (args.window > 0) longest = std::min(longest, args.window);
  const Buffers buffers(args, static_cast<std::size_t>(longest));
  for (std::size_t n = 0; n < args.num_queries; ++n)
    for (std::size_t group = 0; group < args.kv_heads; ++group)
      attend(args, buffers, n, group);
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(attend_queries);

void paged_attention(const PagedAttentionArgs& args) {
  if (args.head_dim == 0 || args.head_dim > kMaxPagedHeadDim)
    throw ShapeError("paged_attention: the head is not 1 to 256 wide");
  if (args.kv_heads == 0 || args.heads % args.kv_heads != 0)
    throw ShapeError("paged_attention: key heads do not divide query heads");
  HWY_DYNAMIC_DISPATCH(attend_queries)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
