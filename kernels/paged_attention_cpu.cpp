// This kernel processes up to 8 queries at a time (QueryTile). It reads the keys, and then the
// values, in runs of up to 16 adjacent slots (KeyRun), and prefetches one or two runs ahead.
// Several query heads can share a key head. The kernel processes two of these query heads at a
// time: two heads of one query, or one head of two queries. When the kernel computes scores, the
// SIMD lanes hold the head's columns, and the vector sums of four keys are reduced together. In the
// softmax, the lanes hold keys. In products with values, the lanes hold columns, and the values of
// the keys are added in order.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

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

#include "aligned_floats.hpp"
#include "dot_rows-inl.hpp"
#include "query_tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace {

std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

constexpr std::size_t kCacheLine = 64;  // bytes

/// Buffers for one tile of queries (QueryTile). Each row is padded to a whole number of vectors. In
/// the shapes, H is the number of query heads.
class Buffers {
public:
  Buffers(const PagedAttentionArgs& args, std::size_t queries_at_once, std::size_t longest)
      : lanes(hn::Lanes(Floats())),
        heads(args.heads),
        shared(args.heads / args.kv_heads),
        columns(round_up(args.head_dim, lanes)),
        score_pitch(round_up(longest, lanes)),
        lines_(queries_at_once * heads),
        memory_(aligned_floats(total())) {
    std::fill_n(memory_.get(), total(), 0.0F);
    queries_ = memory_.get();
    sums_ = queries_ + lines_ * columns;
    scores_ = sums_ + lines_ * columns;
    lines = scores_ + lines_ * score_pitch;
    totals = lines + kRunKeys * columns;
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
  float* lines;   // [kRunKeys, columns] keys or values of one head
  float* totals;  // [queries, H] sums of the exponentials

private:
  std::size_t total() const {
    return lines_ * (2 * columns + score_pitch + 1) + kRunKeys * columns;
  }

  std::size_t lines_;
  hwy::AlignedFreeUniquePtr<float[]> memory_;
  float* queries_;  // [queries, H, columns]
  float* sums_;     // [queries, H, columns]
  float* scores_;   // [queries, H, score_pitch]
};

/// Returns the keys of the cache, as float32 or bfloat16.
template <class Element>
const Element* keys_of(const PagedAttentionArgs& args) {
  if constexpr (std::is_same_v<Element, float>)
    return args.keys;
  else
    return reinterpret_cast<const Element*>(args.half_keys);
}

template <class Element>
const Element* values_of(const PagedAttentionArgs& args) {
  if constexpr (std::is_same_v<Element, float>)
    return args.values;
  else
    return reinterpret_cast<const Element*>(args.half_values);
}

/// Returns the keys or values of key head `group` in a run of adjacent slots. If a head fills whole
/// vectors, the result points into the cache. Otherwise it points to padded copies in b.lines.
template <class Element>
Lines<Element> lines_of(const PagedAttentionArgs& args, const Buffers& b, const Element* from,
                        const KeyRun& run, std::size_t group) {
  const std::size_t width = args.kv_heads * args.head_dim;
  const Element* first = from + run.slot * width + group * args.head_dim;
  if (args.head_dim == b.columns) return {first, width};
  auto* copies = reinterpret_cast<Element*>(b.lines);
  for (std::size_t j = 0; j < run.count; ++j)
    std::copy_n(first + j * width, args.head_dim, copies + j * b.columns);
  return {copies, b.columns};
}

/// Prefetches a part of a run's keys or values into the L2 cache. The run's data for all
/// heads is divided into args.kv_heads equal parts. `part` is the index of one part. The L1 cache
/// is not the target because it allows too few outstanding misses to hide the memory latency.
template <class Element>
HWY_INLINE void fetch_run(const PagedAttentionArgs& args, const KeyRun& run, std::size_t part,
                          const Element* from) {
  const std::size_t bytes = run.count * args.head_dim * sizeof(Element);
  const Element* first = from + run.slot * args.kv_heads * args.head_dim;
  const char* lines = reinterpret_cast<const char*>(first) + part * bytes;
  for (std::size_t i = 0; i < bytes; i += kCacheLine)
    __builtin_prefetch(lines + i, 0, 2);
}

/// One row of the buffers: query q of the tile, and head h of this query.
struct Row {
  std::size_t q;
  std::size_t h;
};

/// Visits the query heads that share key head `group`, for queries q .. q + n - 1, where n is 1 or
/// 2. Each visit(count, row_of) gets `count` query heads, at most kTogether. Each key is read once
/// for all query heads of a call. The function row_of(i) returns the Row of query head i of the
/// call.
template <class Visit>
HWY_INLINE void for_each_row(const Buffers& b, std::size_t group, std::size_t q, std::size_t n,
                             Visit visit) {
  static_assert(kTogether == 2);
  const std::size_t shift = n - 1;  // replaces divisions: i / n is i >> shift, i % n is i & shift
  const std::size_t rows = n * b.shared;
  for (std::size_t first = 0; first < rows; first += kTogether)
    visit(std::min(kTogether, rows - first), [&](std::size_t i) {
      return Row{q + ((first + i) & shift), group * b.shared + ((first + i) >> shift)};
    });
}

/// Returns a pointer to the scores of a row, from the key at position `from` on.
float* scores_of(const Buffers& b, const QueryTile& tile, const Row& row, std::size_t from) {
  return b.scores(row.q, row.h) + from - tile.begin(row.q);
}

template <class Element>
void score_keys(const PagedAttentionArgs& args, const Buffers& b, const QueryTile& tile) {
  const auto* keys = keys_of<Element>(args);
  tile.for_each_run([&](const KeyRun& run, const KeyRun& ahead) {
    for (std::size_t group = 0; group < args.kv_heads; ++group) {
      if (ahead.count > 0)
        fetch_run(args, ahead, group, keys);
      else
        fetch_run(args, tile.first_run(), group, values_of<Element>(args));
      const Lines<Element> lines = lines_of(args, b, keys, run, group);
      tile.for_each_query(run, [&](std::size_t q, std::size_t n, std::size_t from, std::size_t to) {
        const Lines<Element> seen{lines.first + (from - run.key) * lines.pitch, lines.pitch};
        for_each_row(b, group, q, n, [&](std::size_t count, auto row_of) {
          const auto query = [&](std::size_t i) { return b.query(row_of(i).q, row_of(i).h); };
          const auto out = [&](std::size_t i) { return scores_of(b, tile, row_of(i), from); };
          const auto score =
              count == kTogether ? score_lines<kTogether, Element> : score_lines<1, Element>;
          score(per_query(count, query), seen, to - from, b.columns, args.scale,
                per_query(count, out));
        });
      });
    }
  });
}

/// Replaces `count` scores by exp(score - largest), and returns the sum of these exponentials. The
/// sum includes the attention sink, if there is one. The padding after the scores becomes 0.
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
    // NaN has to be kept explicitly, because hn::Exp would turn it into 0.
    const Vector e = hn::IfThenElse(hn::IsNaN(shifted), shifted, hn::Exp(d, shifted));
    sums = hn::Add(sums, e);
    hn::Store(e, d, scores + j);
  }
  const float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  return sink == nullptr ? sum : sum + std::exp(*sink - hn::GetLane(top));
}

template <class Element>
void add_values(const PagedAttentionArgs& args, const Buffers& b, const QueryTile& tile) {
  const auto* values = values_of<Element>(args);
  std::fill_n(b.sum(0, 0), tile.count * b.heads * b.columns, 0.0F);
  tile.for_each_run([&](const KeyRun& run, const KeyRun& ahead) {
    for (std::size_t group = 0; group < args.kv_heads; ++group) {
      fetch_run(args, ahead, group, values);
      const Lines<Element> lines = lines_of(args, b, values, run, group);
      tile.for_each_query(run, [&](std::size_t q, std::size_t n, std::size_t from, std::size_t to) {
        const Lines<Element> seen{lines.first + (from - run.key) * lines.pitch, lines.pitch};
        for_each_row(b, group, q, n, [&](std::size_t count, auto row_of) {
          const auto weights = [&](std::size_t i) { return scores_of(b, tile, row_of(i), from); };
          const auto out = [&](std::size_t i) { return b.sum(row_of(i).q, row_of(i).h); };
          const auto add =
              count == kTogether ? add_lines<kTogether, Element> : add_lines<1, Element>;
          add(per_query(count, weights), seen, to - from, b.columns, per_query(count, out));
        });
      });
    }
  });
}

/// Calls visit(q, h, offset) for each head h of each query q of the tile. `offset` is the index of
/// the head's first element in args.queries and args.out.
template <class Visit>
void for_each_head(const PagedAttentionArgs& args, const QueryTile& tile, Visit visit) {
  for (std::size_t q = 0; q < tile.count; ++q)
    for (std::size_t h = 0; h < args.heads; ++h)
      visit(q, h, ((tile.first + q) * args.heads + h) * args.head_dim);
}

template <class Element>
void attend(const PagedAttentionArgs& args, const Buffers& b, const QueryTile& tile) {
  for_each_head(args, tile, [&](std::size_t q, std::size_t h, std::size_t at) {
    std::copy_n(args.queries + at, args.head_dim, b.query(q, h));
  });
  score_keys<Element>(args, b, tile);
  for_each_head(args, tile, [&](std::size_t q, std::size_t h, std::size_t) {
    const float* sink = args.sinks == nullptr ? nullptr : args.sinks + h;
    b.totals[q * b.heads + h] = softmax(b, tile.end(q) - tile.begin(q), b.scores(q, h), sink);
  });
  add_values<Element>(args, b, tile);
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
    const QueryTile tile(args, n);
    if (args.half_keys != nullptr)
      attend<hwy::bfloat16_t>(args, buffers, tile);
    else
      attend<float>(args, buffers, tile);
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
