// Computes dot products of queries with keys, and weighted sums of values. One call processes one
// or two queries, or one or two heads of a query. This file is compiled once per instruction set;
// see foreach_target.h of Highway.
#if defined(MGPU_KERNELS_DOT_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MGPU_KERNELS_DOT_ROWS_INL
#undef MGPU_KERNELS_DOT_ROWS_INL
#else
#define MGPU_KERNELS_DOT_ROWS_INL
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include <hwy/highway.h>

#include "query_tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

/// The keys or values of one head in consecutive slots. The key or value of one slot is a line.
/// Lines are `pitch` elements apart. `Element` is float or hwy::bfloat16_t.
template <class Element>
struct Lines {
  const Element* first;
  std::size_t pitch;
};

HWY_INLINE Vector load_elements(const float* from) {
  return hn::LoadU(Floats(), from);
}

HWY_INLINE Vector load_elements(const hwy::bfloat16_t* from) {
  return hn::PromoteTo(Floats(), hn::LoadU(hn::Rebind<hwy::bfloat16_t, Floats>(), from));
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

/// Adds up the elements of each vector sums[n], and writes scale times the result to out[n].
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

/// One pointer per query. Up to kTogether queries, or heads of one query, are processed together.
template <class Value>
using PerQuery = std::array<Value*, kTogether>;

template <class Place>
auto per_query(std::size_t queries, Place place) {
  PerQuery<std::remove_pointer_t<decltype(place(0))>> places{};
  for (std::size_t q = 0; q < queries; ++q)
    places[q] = place(q);
  return places;
}

/// Computes out[q][n] = scale * dot(queries[q], lines[n]) for each q and n. `columns`, the length
/// of queries and lines, must be a multiple of the vector length.
template <std::size_t kQueries, class Element>
HWY_INLINE void four_products(const PerQuery<float>& queries, const Element* const (&lines)[4],
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
      const Vector line = load_elements(lines[n] + c);
      for (std::size_t q = 0; q < kQueries; ++q)
        sums[q][n] = hn::MulAdd(query[q], line, sums[q][n]);
    }
  }
  for (std::size_t q = 0; q < kQueries; ++q)
    store_sums(sums[q], scale, out[q]);
}

/// Computes scores[q][j] = scale * dot(queries[q], line j) for each q and each j below `count`. The
/// scores of a query are bit-identical, whether or not another query is processed with it.
template <std::size_t kQueries, class Element>
void score_lines(const PerQuery<float>& queries, const Lines<Element>& lines, std::size_t count,
                 std::size_t columns, float scale, const PerQuery<float>& scores) {
  for (std::size_t j = 0; j < count; j += 4) {
    const auto line = [&](std::size_t n) {  // repeats the last line past the end
      return lines.first + std::min(j + n, count - 1) * lines.pitch;
    };
    float four[kQueries][4];
    four_products<kQueries, Element>(queries, {line(0), line(1), line(2), line(3)}, columns, scale,
                                     four);
    for (std::size_t q = 0; q < kQueries; ++q)
      std::copy_n(four[q], std::min<std::size_t>(4, count - j), scores[q] + j);
  }
}

template <std::size_t kQueries, std::size_t kVectors, class Element>
HWY_INLINE void add_columns(const Lines<Element>& lines, const PerQuery<float>& weights,
                            std::size_t count, std::size_t column, const PerQuery<float>& out) {
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
      const Vector line = load_elements(lines.first + j * lines.pitch + column + v * lanes);
      for (std::size_t q = 0; q < kQueries; ++q)
        sums[q][v] = hn::MulAdd(weight[q], line, sums[q][v]);
    }
  }
  for (std::size_t q = 0; q < kQueries; ++q)
    for (std::size_t v = 0; v < kVectors; ++v)
      hn::Store(sums[q][v], d, out[q] + column + v * lanes);
}

/// Adds weights[q][j] * line j to out[q] for all lines j, in order.
template <std::size_t kQueries, class Element>
void add_lines(const PerQuery<float>& weights, const Lines<Element>& lines, std::size_t count,
               std::size_t columns, const PerQuery<float>& out) {
  const std::size_t lanes = hn::Lanes(Floats());
  std::size_t c = 0;
  for (; c + 4 * lanes <= columns; c += 4 * lanes)
    add_columns<kQueries, 4>(lines, weights, count, c, out);
  for (; c < columns; c += lanes)
    add_columns<kQueries, 1>(lines, weights, count, c, out);
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
