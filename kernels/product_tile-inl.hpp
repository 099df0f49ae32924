// Products of blocks of rows with panels of weights, compiled once per instruction set; see
// foreach_target.h of Highway. A tile is up to 8 rows (4 where there are 16 registers) times three
// vectors of outputs, kept in registers over a block of inputs, whose panel stays in the second
// cache for all rows.
#if defined(MGPU_KERNELS_PRODUCT_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MGPU_KERNELS_PRODUCT_TILE_INL
#undef MGPU_KERNELS_PRODUCT_TILE_INL
#else
#define MGPU_KERNELS_PRODUCT_TILE_INL
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <mgpu/kernels/packed_product.hpp>

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

constexpr std::size_t kMostInputs = 512;  // 96 KiB of weights
constexpr std::size_t kLineFloats = 16;   // of a cache line
// What is on its way to the second cache, ahead of the weights in use: the first one waits for too
// few lines at a time.
constexpr std::size_t kAhead = 128 * kPanelWidth;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
constexpr std::size_t kTileRows = 4;  // 12 sums, 3 weights and an input in 16 registers
#else
constexpr std::size_t kTileRows = 8;
#endif

/// Inputs are taken in blocks of this many, all about as long.
HWY_INLINE std::size_t input_block(std::size_t inputs) {
  const std::size_t blocks = (inputs + kMostInputs - 1) / kMostInputs;
  return blocks == 0 ? 1 : (inputs + blocks - 1) / blocks;
}

/// Columns of the last tile that are written for `columns` outputs of a panel.
HWY_INLINE std::size_t written_columns(std::size_t columns) {
  const std::size_t lanes = hn::Lanes(Floats());
  return (columns + lanes - 1) / lanes * lanes;
}

enum class Rows {
  in_order,    // element (r, i) of x at r * pitch + i
  interleaved  // kTileRows at a time: i * kTileRows + r
};

HWY_INLINE Vector load_weights(Floats d, const float* weights) {
  return hn::LoadU(d, weights);
}

HWY_INLINE Vector load_weights(Floats d, const hwy::bfloat16_t* weights) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::bfloat16_t, Floats>(), weights));
}

/// One block of inputs of one panel. `Weight`: float or hwy::bfloat16_t.
template <class Weight>
struct Block {
  const float* x;       // first row, first input of the block
  std::size_t x_pitch;  // between rows, also of the first rows of interleaved tiles
  const Weight* panel;  // [inputs, 48]
  std::size_t inputs;   //
  float* out;           // first row, first output of the panel
  std::size_t out_pitch;
  std::size_t columns;  // of the panel that are computed, whole vectors
  bool is_first;        // sums start at 0, not at what `out` has
};

/// The next tile is sent for on the way: where rows begin, the hardware does not see them coming.
template <Rows kOrder, std::size_t kRows, std::size_t kVectors, bool kFetches, class Weight>
HWY_INLINE void multiply_tile(const Block<Weight>& block, std::size_t row, std::size_t column) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr bool kInOrder = kOrder == Rows::in_order;
  const std::size_t inside = kInOrder ? 0 : row % kTileRows;
  const float* x = block.x + (row - inside) * block.x_pitch + inside;
  const std::size_t row_step = kInOrder ? block.x_pitch : 1;
  const std::size_t input_step = kInOrder ? 1 : kTileRows;
  const Weight* weights = block.panel + column;
  float* out = block.out + row * block.out_pitch + column;
  Vector sums[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < kVectors; ++v)
      sums[r][v] =
          block.is_first ? hn::Zero(d) : hn::LoadU(d, out + r * block.out_pitch + v * lanes);
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < kVectors; ++v)
      __builtin_prefetch(out + (r + kTileRows) * block.out_pitch + v * lanes, 1, 2);
  for (std::size_t i = 0; i < block.inputs; ++i, weights += kPanelWidth, x += input_step) {
    if (kInOrder && i % kLineFloats == 0)
      for (std::size_t r = 0; r < kRows; ++r)
        __builtin_prefetch(x + (r + kTileRows) * row_step, 0, 2);
    if constexpr (kFetches)
      for (std::size_t v = 0; v < kPanelWidth; v += 64 / sizeof(Weight))
        __builtin_prefetch(weights + kAhead + v, 0, 2);
    Vector w[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v)
      w[v] = load_weights(d, weights + v * lanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vector input = hn::Set(d, x[r * row_step]);
      for (std::size_t v = 0; v < kVectors; ++v)
        sums[r][v] = hn::MulAdd(input, w[v], sums[r][v]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < kVectors; ++v)
      hn::StoreU(sums[r][v], d, out + r * block.out_pitch + v * lanes);
}

template <Rows kOrder, std::size_t kVectors, bool kFetches, class Weight>
HWY_INLINE void multiply_rows(const Block<Weight>& block, std::size_t rows, std::size_t column) {
  std::size_t row = 0;
  if (kFetches && rows >= kTileRows) {
    multiply_tile<kOrder, kTileRows, kVectors, true>(block, 0, column);
    row = kTileRows;
  }
  for (; row + kTileRows <= rows; row += kTileRows)
    multiply_tile<kOrder, kTileRows, kVectors, false>(block, row, column);
  for (; row + 4 <= rows; row += 4)
    multiply_tile<kOrder, 4, kVectors, false>(block, row, column);
  for (; row < rows; ++row)
    multiply_tile<kOrder, 1, kVectors, false>(block, row, column);
}

/// `kFetches`: the weights come from memory and are fetched ahead of the first rows.
template <Rows kOrder, bool kFetches, class Weight>
HWY_NOINLINE void multiply_block(const Block<Weight>& block, std::size_t rows) {
  const std::size_t lanes = hn::Lanes(Floats());
  std::size_t column = 0;
  for (; column + 3 * lanes <= block.columns; column += 3 * lanes)
    multiply_rows<kOrder, 3, kFetches>(block, rows, column);
  if (block.columns - column == 2 * lanes)
    multiply_rows<kOrder, 2, kFetches>(block, rows, column);
  else if (block.columns - column == lanes)
    multiply_rows<kOrder, 1, kFetches>(block, rows, column);
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
