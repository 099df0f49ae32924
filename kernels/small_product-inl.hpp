// Multiplies small matrices that are not packed. This file is compiled once per instruction set;
// see foreach_target.h of Highway. A tile of the result stays in registers. A tile has up to
// kTileRows (6 or 8) rows and two vectors per row.
#if defined(MGPU_KERNELS_SMALL_PRODUCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MGPU_KERNELS_SMALL_PRODUCT_INL
#undef MGPU_KERNELS_SMALL_PRODUCT_INL
#else
#define MGPU_KERNELS_SMALL_PRODUCT_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "tile_shape-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The left matrix [rows, count]. Element i of row r is at r * row_step + i * step.
struct Factors {
  const float* first;
  std::size_t row_step;
  std::size_t step;
};

/// The right matrix [count, columns], where `columns` is a multiple of the vector length.
struct Summands {
  const float* first;
  std::size_t pitch;
};

/// The result [rows, columns].
struct Sums {
  float* first;
  std::size_t pitch;
};

enum class Start { at_zero, at_sums };

template <Start kStart, std::size_t kHeight, std::size_t kVectors>
HWY_INLINE void add_tile(const Factors& factors, const Summands& lines, std::size_t count,
                         const Sums& out) {
  const hn::CappedTag<float, 16> d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> sums[kHeight][kVectors];
  for (std::size_t r = 0; r < kHeight; ++r)
    for (std::size_t v = 0; v < kVectors; ++v)
      sums[r][v] = kStart == Start::at_zero ? hn::Zero(d)
                                            : hn::Load(d, out.first + r * out.pitch + v * lanes);
  const float* factor = factors.first;
  const float* line = lines.first;
  for (std::size_t i = 0; i < count; ++i, factor += factors.step, line += lines.pitch) {
    hn::Vec<decltype(d)> x[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v)
      x[v] = hn::Load(d, line + v * lanes);
    for (std::size_t r = 0; r < kHeight; ++r) {
      const auto y = hn::Set(d, factor[r * factors.row_step]);
      for (std::size_t v = 0; v < kVectors; ++v)
        sums[r][v] = hn::MulAdd(y, x[v], sums[r][v]);
    }
  }
  for (std::size_t r = 0; r < kHeight; ++r)
    for (std::size_t v = 0; v < kVectors; ++v)
      hn::Store(sums[r][v], d, out.first + r * out.pitch + v * lanes);
}

/// Computes a tile of `height` rows. `height` is at most kHeight.
template <Start kStart, std::size_t kHeight, std::size_t kVectors>
HWY_INLINE void add_low_tile(const Factors& factors, const Summands& lines, std::size_t count,
                             std::size_t height, const Sums& out) {
  if (height == kHeight)
    add_tile<kStart, kHeight, kVectors>(factors, lines, count, out);
  else if constexpr (kHeight > 1)
    add_low_tile<kStart, kHeight - 1, kVectors>(factors, lines, count, height, out);
}

template <Start kStart, std::size_t kVectors>
HWY_INLINE void add_columns_of(Factors factors, const Summands& lines, std::size_t count,
                               std::size_t rows, Sums out) {
  for (; rows >= kTileRows; rows -= kTileRows) {
    add_tile<kStart, kTileRows, kVectors>(factors, lines, count, out);
    factors.first += kTileRows * factors.row_step;
    out.first += kTileRows * out.pitch;
  }
  if (rows > 0) add_low_tile<kStart, kTileRows - 1, kVectors>(factors, lines, count, rows, out);
}

/// Computes out = factors * lines, or out += factors * lines with Start::at_sums. Each sum is one
/// chain of multiply-adds over the index from 0 to count - 1, in this order.
/// Shapes: factors [rows, count], lines [count, columns], out [rows, columns]; lines and out are
///         aligned
template <Start kStart>
HWY_NOINLINE void small_product(const Factors& factors, const Summands& lines, std::size_t count,
                                std::size_t rows, std::size_t columns, const Sums& out) {
  constexpr std::size_t kVectors = 2;
  const std::size_t lanes = hn::Lanes(hn::CappedTag<float, 16>());
  std::size_t c = 0;
  for (; c + kVectors * lanes <= columns; c += kVectors * lanes)
    add_columns_of<kStart, kVectors>(factors, {lines.first + c, lines.pitch}, count, rows,
                                     {out.first + c, out.pitch});
  if (c < columns)
    add_columns_of<kStart, 1>(factors, {lines.first + c, lines.pitch}, count, rows,
                              {out.first + c, out.pitch});
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
