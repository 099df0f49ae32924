// Up to 8 consecutive queries of a sequence at a time: keys, and then values, are read in the order
// of memory, each once for all heads and queries that see it. Scores: lanes are the head's
// columns; softmax: lanes are keys; products with values: lanes are columns, keys in their order.
#include <algorithm>
#include <cmath>

#include <hwy/aligned_allocator.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/paged_attention.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paged_attention_cpu.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
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

constexpr std::size_t kTileQueries = 8;
constexpr std::size_t kCacheLine = 16;  // floats
constexpr std::size_t kAhead = 4;       // slots between the line in use and one on its way

/// Queries first .. first + count - 1 of one sequence at consecutive positions, and their keys.
class Tile {
public:
  Tile(const PagedAttentionArgs& args, std::size_t first_query)
      : first(first_query),
        args_(args),
        pages_(args.page_slots +
               static_cast<std::size_t>(args.sequences[first]) * args.page_pitch) {
    const auto follows = [&](std::size_t n) {
      return n < args.num_queries && args.sequences[n] == args.sequences[first] &&
             args.positions[n] == args.positions[n - 1] + 1;
    };
    while (count < kTileQueries && follows(first + count))
      ++count;
  }

  /// Keys begin(q) .. end(q) - 1 are those that query first + q sees.
  std::size_t end(std::size_t q) const {
    return static_cast<std::size_t>(args_.positions[first + q]) + 1;
  }
  std::size_t begin(std::size_t q) const {
    const auto window = static_cast<std::size_t>(args_.window);
    return window == 0 || end(q) <= window ? 0 : end(q) - window;
  }

  /// Calls visit(key, slot) for all keys of the tile in their order.
  template <class Visit>
  void for_each(Visit visit) const {
    const std::size_t last = end(count - 1);
    for (std::size_t t = begin(0); t < last;) {
      const std::size_t inside = t % args_.page_tokens;
      auto slot = static_cast<std::size_t>(pages_[t / args_.page_tokens]) + inside;
      const std::size_t stop = std::min(last, t - inside + args_.page_tokens);
      for (; t < stop; ++t)
        visit(t, slot++);
    }
  }

  /// Calls visit(q) for the queries that see the key.
  template <class Visit>
  void for_each_query(std::size_t key, Visit visit) const {
    for (std::size_t q = 0; q < count; ++q)
      if (key >= begin(q) && key < end(q)) visit(q);
  }

  std::size_t first;
  std::size_t count = 1;

private:
  const PagedAttentionArgs& args_;
  const std::int64_t* pages_;
};

/// Padded copies, so that no vector is partial.
class Buffers {
public:
  Buffers(const PagedAttentionArgs& args, std::size_t queries_at_once, std::size_t longest)
      : lanes(hn::Lanes(Floats())),
        heads(args.heads),
        shared(args.heads / args.kv_heads),
        columns(round_up(args.head_dim, lanes)),
        score_pitch(round_up(longest, lanes)),
        lines_(queries_at_once * heads),
        memory_(hwy::AllocateAligned<float>(total())) {
    std::fill_n(memory_.get(), total(), 0.0F);
    queries_ = memory_.get();
    sums_ = queries_ + lines_ * columns;
    scores_ = sums_ + lines_ * columns;
    line = scores_ + lines_ * score_pitch;
    totals = line + columns;
  }

  float* query(std::size_t q, std::size_t h) const { return queries_ + (q * heads + h) * columns; }
  float* sum(std::size_t q, std::size_t h) const { return sums_ + (q * heads + h) * columns; }
  float* scores(std::size_t q, std::size_t h) const {
    return scores_ + (q * heads + h) * score_pitch;
  }

  const std::size_t lanes;
  const std::size_t heads;
  const std::size_t shared;  // query heads per key head
  const std::size_t columns;
  const std::size_t score_pitch;
  float* line;    // [columns] one key or value
  float* totals;  // [queries, H] sums of the exponentials

private:
  std::size_t total() const { return lines_ * (2 * columns + score_pitch + 1) + columns; }

  std::size_t lines_;
  hwy::AlignedFreeUniquePtr<float[]> memory_;
  float* queries_;  // [queries, H, columns]
  float* sums_;     // [queries, H, columns]
  float* scores_;   // [queries, H, score_pitch]
};

/// The line itself where it fills its vectors, else the padded copy.
const float* padded(const Buffers& b, const float* from, std::size_t head_dim) {
  if (head_dim == b.columns) return from;
  std::copy_n(from, head_dim, b.line);
  return b.line;
}

float dot(const float* a, const float* b, std::size_t columns) {
  const Floats d;
  Vector sum = hn::Zero(d);
  for (std::size_t c = 0; c < columns; c += hn::Lanes(d))
    sum = hn::MulAdd(hn::Load(d, a + c), hn::LoadU(d, b + c), sum);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// Sends for the line of a later slot; what it would be beyond the last one does not matter.
void fetch(const PagedAttentionArgs& args, const float* lines, std::size_t slot) {
  const std::size_t width = args.kv_heads * args.head_dim;
  for (std::size_t c = 0; c < width; c += kCacheLine)
    hwy::Prefetch(lines + (slot + kAhead) * width + c);
}

void score_keys(const PagedAttentionArgs& args, const Buffers& b, const Tile& tile) {
  tile.for_each([&](std::size_t key, std::size_t slot) {
    fetch(args, args.keys, slot);
    for (std::size_t group = 0; group < args.kv_heads; ++group) {
      const std::size_t at = (slot * args.kv_heads + group) * args.head_dim;
      const float* line = padded(b, args.keys + at, args.head_dim);
      tile.for_each_query(key, [&](std::size_t q) {
        for (std::size_t h = group * b.shared; h < (group + 1) * b.shared; ++h)
          b.scores(q, h)[key - tile.begin(q)] = dot(b.query(q, h), line, b.columns) * args.scale;
      });
    }
  });
}

/// Scores -> exp(score - largest), and their sum, that of the sink included. Lanes past the end
/// become 0.
float softmax(const Buffers& b, std::size_t count, float* scores, const float* sink) {
  const Floats d;
  const std::size_t end = round_up(count, b.lanes);
  std::fill(scores + count, scores + end, -INFINITY);
  Vector tops = hn::Set(d, sink == nullptr ? -INFINITY : *sink);
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
  const float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  return sink == nullptr ? sum : sum + std::exp(*sink - hn::GetLane(top));
}

void add_scaled(const float* line, float weight, float* sum, std::size_t columns) {
  const Floats d;
  const Vector factor = hn::Set(d, weight);
  for (std::size_t c = 0; c < columns; c += hn::Lanes(d))
    hn::Store(hn::MulAdd(factor, hn::LoadU(d, line + c), hn::Load(d, sum + c)), d, sum + c);
}

void add_values(const PagedAttentionArgs& args, const Buffers& b, const Tile& tile) {
  std::fill_n(b.sum(0, 0), tile.count * b.heads * b.columns, 0.0F);
  tile.for_each([&](std::size_t key, std::size_t slot) {
    fetch(args, args.values, slot);
    for (std::size_t group = 0; group < args.kv_heads; ++group) {
      const std::size_t at = (slot * args.kv_heads + group) * args.head_dim;
      const float* line = padded(b, args.values + at, args.head_dim);
      tile.for_each_query(key, [&](std::size_t q) {
        for (std::size_t h = group * b.shared; h < (group + 1) * b.shared; ++h)
          add_scaled(line, b.scores(q, h)[key - tile.begin(q)], b.sum(q, h), b.columns);
      });
    }
  });
}

/// Calls visit(q, h, place of the head in queries and out).
template <class Visit>
void for_each_head(const PagedAttentionArgs& args, const Tile& tile, Visit visit) {
  for (std::size_t q = 0; q < tile.count; ++q)
    for (std::size_t h = 0; h < args.heads; ++h)
      visit(q, h, ((tile.first + q) * args.heads + h) * args.head_dim);
}

void attend(const PagedAttentionArgs& args, const Buffers& b, const Tile& tile) {
  for_each_head(args, tile, [&](std::size_t q, std::size_t h, std::size_t at) {
    std::copy_n(args.queries + at, args.head_dim, b.query(q, h));
  });
  score_keys(args, b, tile);
  for_each_head(args, tile, [&](std::size_t q, std::size_t h, std::size_t) {
    const float* sink = args.sinks == nullptr ? nullptr : args.sinks + h;
    b.totals[q * b.heads + h] = softmax(b, tile.end(q) - tile.begin(q), b.scores(q, h), sink);
  });
  add_values(args, b, tile);
  for_each_head(args, tile, [&](std::size_t q, std::size_t h, std::size_t at) {
    for (std::size_t c = 0; c < args.head_dim; ++c)
      args.out[at + c] = b.sum(q, h)[c] / b.totals[q * b.heads + h];
  });
}

}  // namespace

void attend_queries(const PagedAttentionArgs& args) {
  std::int64_t longest = 0;
  for (std::size_t n = 0; n < args.num_queries; ++n)
    longest = std::max(longest, args.positions[n] + 1);
  if (args.window > 0) longest = std::min(longest, args.window);
  const std::size_t queries = std::min(kTileQueries, args.num_queries);
  const Buffers buffers(args, queries, static_cast<std::size_t>(longest));
  for (std::size_t n = 0; n < args.num_queries;) {
    const Tile tile(args, n);
    attend(args, buffers, tile);
    n += tile.count;
  }
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
