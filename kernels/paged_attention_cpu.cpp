// Up to 8 consecutive queries of a sequence at a time: keys, and then values, are read 16 at a time
// for all heads and queries that see them, by two queries together, while the next 16 are on their
// way from memory. Scores: lanes are the head's columns, four are summed up together; softmax:
// lanes are keys; products with values: lanes are columns, keys in their order.
#include <algorithm>
#include <array>
#include <cmath>
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
constexpr std::size_t kTogether = 2;    // queries for which a line is read once
constexpr std::size_t kCacheLine = 16;  // floats
constexpr std::size_t kRunKeys = 16;

/// Keys key .. key + count - 1 of a sequence, in neighboring slots.
struct Run {
  std::size_t key;
  std::size_t slot;  // of the first
  std::size_t count;
};

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

  /// Calls visit(run) for all keys of the tile in their order, at most `most` at once.
  template <class Visit>
  void for_each_run(std::size_t most, Visit visit) const {
    const std::size_t last = end(count - 1);
    for (std::size_t t = begin(0); t < last;) {
      const std::size_t inside = t % args_.page_tokens;
      const std::size_t keys = std::min({last - t, args_.page_tokens - inside, most});
      visit(Run{t, slot(t), keys});
      t += keys;
    }
  }

  /// Of a key that one of the queries sees.
  std::size_t slot(std::size_t key) const {
    return static_cast<std::size_t>(pages_[key / args_.page_tokens]) + key % args_.page_tokens;
  }

  /// Calls visit(q, n, from, to) for the queries that see keys from .. to - 1 of the run: n is 2
  /// for keys that q and q + 1 both see, else 1. The keys of a query come in their order.
  template <class Visit>
  void for_each_query(const Run& run, Visit visit) const {
    for (std::size_t q = 0; q < count; q += kTogether) {
      const Seen one = seen_by(q, run);
      const Seen two = q + 1 < count ? seen_by(q + 1, run) : Seen{run.key, run.key};
      const Seen both{std::max(one.from, two.from), std::min(one.to, two.to)};
      const auto visit_alone = [&](std::size_t query, std::size_t from, std::size_t to) {
        if (from < to) visit(query, std::size_t{1}, from, to);
      };
      if (both.from >= both.to) {
        visit_alone(q, one.from, one.to);
        visit_alone(q + 1, two.from, two.to);
        continue;
      }
      visit_alone(q, one.from, both.from);
      visit_alone(q + 1, two.from, both.from);
      visit(q, kTogether, both.from, both.to);
      visit_alone(q, both.to, one.to);
      visit_alone(q + 1, both.to, two.to);
    }
  }

  std::size_t first;
  std::size_t count = 1;

private:
  struct Seen {
    std::size_t from;
    std::size_t to;
  };

  Seen seen_by(std::size_t q, const Run& run) const {
    return {std::max(run.key, begin(q)), std::min(run.key + run.count, end(q))};
  }

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

/// One head of the keys or values of a run.
struct Lines {
  const float* first;
  std::size_t pitch;
};

/// The lines themselves where they fill their vectors, else padded copies.
Lines lines_of(const PagedAttentionArgs& args, const Buffers& b, const float* from, const Run& run,
               std::size_t group) {
  const std::size_t width = args.kv_heads * args.head_dim;
  const float* first = from + run.slot * width + group * args.head_dim;
  if (args.head_dim == b.columns) return {first, width};
  for (std::size_t j = 0; j < run.count; ++j)
    std::copy_n(first + j * width, args.head_dim, b.lines + j * b.columns);
  return {b.lines, b.columns};
}

/// Sends for one of `args.kv_heads` parts of `count` lines. Into the second cache: the first one
/// waits for too few lines at a time to hide the way from memory.
HWY_INLINE void fetch_part(const PagedAttentionArgs& args, const float* lines, std::size_t count,
                           std::size_t part) {
  const std::size_t floats = count * args.head_dim;
  for (std::size_t i = 0; i < floats; i += kCacheLine)
    __builtin_prefetch(lines + part * floats + i, 0, 1);
}

/// Sends for a part of the lines after the run: those of `from`, after its last run the first of
/// `then`, if any.
HWY_INLINE void fetch_ahead(const PagedAttentionArgs& args, const Tile& tile, const Run& run,
                            std::size_t part, const float* from, const float* then) {
  const std::size_t width = args.kv_heads * args.head_dim;
  const std::size_t next = run.key + run.count;
  const bool has_next = next < tile.end(tile.count - 1);
  if (!has_next) from = then;
  if (from == nullptr) return;
  fetch_part(args, from + tile.slot(has_next ? next : tile.begin(0)) * width, run.count, part);
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void store_sums(const Vector (&sums)[4], float scale, float* out) {
  for (std::size_t n = 0; n < 4; ++n)
    out[n] = hn::GetLane(sums[n]) * scale;
}
#else
using Four = hn::CappedTag<float, 4>;

template <class D>
HWY_INLINE hn::Vec<Four> fold_halves(D d, hn::Vec<D> sums) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return sums;
  } else {
    const hn::Half<D> half;
    return fold_halves(half, hn::Add(hn::LowerHalf(half, sums), hn::UpperHalf(half, sums)));
  }
}

/// out[n] = scale times the sum of the lanes of sums[n].
HWY_INLINE void store_sums(const Vector (&sums)[4], float scale, float* out) {
  const Floats d;
  const Four four;
  const hn::Repartition<double, Floats> pairs;
  const auto folded = [&](const Vector& a, const Vector& b) {
    return hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  };
  const auto first = folded(sums[0], sums[1]);
  const auto second = folded(sums[2], sums[3]);
  const Vector all = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, first, second)),
                             hn::BitCast(d, hn::InterleaveUpper(pairs, first, second)));
  hn::StoreU(hn::Mul(fold_halves(d, all), hn::Set(four, scale)), four, out);
}
#endif

/// What belongs to each of the queries that are worked on together.
template <class Value>
using PerQuery = std::array<Value*, kTogether>;

template <class Place>
auto per_query(std::size_t queries, Place place) {
  PerQuery<std::remove_pointer_t<decltype(place(0))>> places{};
  for (std::size_t q = 0; q < queries; ++q)
    places[q] = place(q);
  return places;
}

/// out[q][n] = scale * queries[q] . lines[n]; `columns` fill their vectors.
template <std::size_t kQueries>
HWY_INLINE void four_products(const PerQuery<float>& queries, const float* const (&lines)[4],
                              std::size_t columns, float scale, float (&out)[kQueries][4]) {
  const Floats d;
  Vector sums[kQueries][4];
  for (std::size_t q = 0; q < kQueries; ++q)
    for (std::size_t n = 0; n < 4; ++n)
      sums[q][n] = hn::Zero(d);
  for (std::size_t c = 0; c < columns; c += hn::Lanes(d)) {
    Vector query[kQueries];
    for (std::size_t q = 0; q < kQueries; ++q)
      query[q] = hn::Load(d, queries[q] + c);
    for (std::size_t n = 0; n < 4; ++n) {
      const Vector line = hn::LoadU(d, lines[n] + c);
      for (std::size_t q = 0; q < kQueries; ++q)
        sums[q][n] = hn::MulAdd(query[q], line, sums[q][n]);
    }
  }
  for (std::size_t q = 0; q < kQueries; ++q)
    store_sums(sums[q], scale, out[q]);
}

/// scores[q][j] = scale * queries[q] . line j, each for itself.
template <std::size_t kQueries>
void score_lines(const PerQuery<float>& queries, const Lines& lines, std::size_t count,
                 std::size_t columns, float scale, const PerQuery<float>& scores) {
  for (std::size_t j = 0; j < count; j += 4) {
    const auto line = [&](std::size_t n) {  // the last again where there is none
      return lines.first + std::min(j + n, count - 1) * lines.pitch;
    };
    float four[kQueries][4];
    four_products<kQueries>(queries, {line(0), line(1), line(2), line(3)}, columns, scale, four);
    for (std::size_t q = 0; q < kQueries; ++q)
      std::copy_n(four[q], std::min<std::size_t>(4, count - j), scores[q] + j);
  }
}

/// Where the scores of `n` queries from q on begin, of keys from `from` on.
PerQuery<float> scores_of(const Buffers& b, const Tile& tile, std::size_t q, std::size_t n,
                          std::size_t h, std::size_t from) {
  return per_query(n, [&](std::size_t i) { return b.scores(q + i, h) + from - tile.begin(q + i); });
}

void score_keys(const PagedAttentionArgs& args, const Buffers& b, const Tile& tile) {
  tile.for_each_run(kRunKeys, [&](const Run& run) {
    for (std::size_t group = 0; group < args.kv_heads; ++group) {
      fetch_ahead(args, tile, run, group, args.keys, args.values);
      const Lines lines = lines_of(args, b, args.keys, run, group);
      tile.for_each_query(run, [&](std::size_t q, std::size_t n, std::size_t from, std::size_t to) {
        const Lines seen{lines.first + (from - run.key) * lines.pitch, lines.pitch};
        const auto score = n == kTogether ? score_lines<kTogether> : score_lines<1>;
        for (std::size_t h = group * b.shared; h < (group + 1) * b.shared; ++h)
          score(per_query(n, [&](std::size_t i) { return b.query(q + i, h); }), seen, to - from,
                b.columns, args.scale, scores_of(b, tile, q, n, h, from));
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

template <std::size_t kQueries, std::size_t kVectors>
HWY_INLINE void add_columns(const Lines& lines, const PerQuery<float>& weights, std::size_t count,
                            std::size_t column, const PerQuery<float>& out) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  Vector sums[kQueries][kVectors];
  for (std::size_t q = 0; q < kQueries; ++q)
    for (std::size_t v = 0; v < kVectors; ++v)
      sums[q][v] = hn::Load(d, out[q] + column + v * lanes);
  for (std::size_t j = 0; j < count; ++j) {
    Vector weight[kQueries];
    for (std::size_t q = 0; q < kQueries; ++q)
      weight[q] = hn::Set(d, weights[q][j]);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Vector line = hn::LoadU(d, lines.first + j * lines.pitch + column + v * lanes);
      for (std::size_t q = 0; q < kQueries; ++q)
        sums[q][v] = hn::MulAdd(weight[q], line, sums[q][v]);
    }
  }
  for (std::size_t q = 0; q < kQueries; ++q)
    for (std::size_t v = 0; v < kVectors; ++v)
      hn::Store(sums[q][v], d, out[q] + column + v * lanes);
}

/// out[q] += weights[q][j] * line j, in the order of j.
template <std::size_t kQueries>
void add_lines(const PerQuery<float>& weights, const Lines& lines, std::size_t count,
               std::size_t columns, const PerQuery<float>& out) {
  const std::size_t lanes = hn::Lanes(Floats());
  std::size_t c = 0;
  for (; c + 4 * lanes <= columns; c += 4 * lanes)
    add_columns<kQueries, 4>(lines, weights, count, c, out);
  for (; c < columns; c += lanes)
    add_columns<kQueries, 1>(lines, weights, count, c, out);
}

void add_values(const PagedAttentionArgs& args, const Buffers& b, const Tile& tile) {
  std::fill_n(b.sum(0, 0), tile.count * b.heads * b.columns, 0.0F);
  tile.for_each_run(kRunKeys, [&](const Run& run) {
    for (std::size_t group = 0; group < args.kv_heads; ++group) {
      fetch_ahead(args, tile, run, group, args.values, nullptr);
      const Lines lines = lines_of(args, b, args.values, run, group);
      tile.for_each_query(run, [&](std::size_t q, std::size_t n, std::size_t from, std::size_t to) {
        const Lines seen{lines.first + (from - run.key) * lines.pitch, lines.pitch};
        const auto add = n == kTogether ? add_lines<kTogether> : add_lines<1>;
        for (std::size_t h = group * b.shared; h < (group + 1) * b.shared; ++h)
          add(scores_of(b, tile, q, n, h, from), seen, to - from, b.columns,
              per_query(n, [&](std::size_t i) { return b.sum(q + i, h); }));
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
