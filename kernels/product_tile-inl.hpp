// Multiplies blocks of rows by GEMM panels of packed weights. This file is compiled once per
// instruction set; see foreach_target.h of Highway. A tile of sums is up to 8 rows times three
// vectors of outputs. If the processor has only 16 vector registers, a tile is up to 6 rows times
// two vectors. The sums of a tile stay in registers during a block of inputs. The weights of a
// panel stay in the L2 cache for all rows. With 16 vector registers, the weights of a tile also
// stay in L1.
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

#include "tile_shape-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

constexpr std::size_t kLineFloats = 16;  // floats in a cache line
constexpr std::size_t kLineBytes = 64;
// Each of the first kFetchingTiles tiles prefetches a share of the next block of weights into L2.
// L1 is not the target because it allows too few outstanding misses. A prefetch of the whole block
// at once takes longer.
constexpr std::size_t kFetchingTiles = 8;

/// Returns the number of inputs in a block, at most kMaxInputs. All blocks of a product have about
/// the same size.
HWY_INLINE std::size_t input_block(std::size_t inputs) {
  const std::size_t blocks = (inputs + kMaxInputs - 1) / kMaxInputs;
  return blocks == 0 ? 1 : (inputs + blocks - 1) / blocks;
}

/// Returns how many columns a product writes for `columns` outputs of a panel: `columns`, rounded
/// up to whole vectors.
HWY_INLINE std::size_t written_columns(std::size_t columns) {
  const std::size_t lanes = hn::Lanes(Floats());
  return (columns + lanes - 1) / lanes * lanes;
}

/// Rows that are a multiple of this distance (2 KiB) apart share cache sets, and would evict each
/// other. A product of kTileRows or more such rows reads a copy whose rows are spread_pitch()
/// apart.
constexpr std::size_t kSharedSets = 512;  // floats
HWY_INLINE std::size_t spread_pitch(std::size_t inputs) {
  return inputs + kLineFloats;
}

/// Copies x [rows, inputs], whose rows are `pitch` apart, to `copy`, whose rows are spread_pitch()
/// apart. Rows are too far apart for the hardware prefetcher, so this function prefetches three
/// rows ahead. The prefetch raised the speed from 105 to 108 GFLOP/s for 1,024 rows of 8,192 inputs
/// on a Zen 4.
HWY_INLINE void spread_rows(const float* x, std::size_t pitch, std::size_t rows, std::size_t inputs,
                            float* copy) {
  constexpr std::size_t kAhead = 3;  // distance of the prefetch, in rows
  for (std::size_t row = 0; row < rows; ++row) {
    const float* from = x + row * pitch;
    const float* later = x + std::min(row + kAhead, rows - 1) * pitch;
    for (std::size_t i = 0; i < inputs; i += kLineFloats)
      __builtin_prefetch(later + i, 0, 2);
    std::copy_n(from, inputs, copy + row * spread_pitch(inputs));
  }
}

enum class Rows {
  in_order,    // element (r, i) of x at r * pitch + i
  interleaved  // tiles of kTileRows rows: element (r, i) of a tile at i * kTileRows + r
};

HWY_INLINE Vector load_weights(Floats d, const float* weights) {
  return hn::LoadU(d, weights);
}

HWY_INLINE Vector load_weights(Floats d, const hwy::bfloat16_t* weights) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::bfloat16_t, Floats>(), weights));
}

/// The operands of a product: one block of inputs, and the weights from these inputs to the outputs
/// of one panel. `Weight` is float or hwy::bfloat16_t.
template <class Weight>
struct Block {
  const float* x;       // first row, first input of the block
  std::size_t x_pitch;  // floats between rows; interleaved: tile from row r on is at r * x_pitch
  const Weight* panel;  // [inputs, kPanelWidth]
  const Weight* next;   // the block of weights after this one, to be prefetched
  std::size_t inputs;
  float* out;  // first row, first output of the panel
  std::size_t out_pitch;
  std::size_t columns;  // columns of the panel to compute, in whole vectors
  bool is_first;        // true: sums start at 0; false: at the values in `out`
};

/// Returns how many bytes of the next block of weights a tile prefetches while it processes one
/// input. The first kFetchingTiles of the `tiles` tiles share the prefetching, or all tiles if
/// there are fewer.
template <class Weight>
HWY_INLINE std::size_t fetch_step(std::size_t tiles) {
  const std::size_t row = kPanelWidth * sizeof(Weight);
  const std::size_t sharers = std::min(tiles, kFetchingTiles);
  return (row + sharers - 1) / sharers;
}

/// The weights that a tile prefetches: the address to prefetch at the tile's first input, and the
/// number of bytes per input.
struct Fetch {
  const char* from;
  std::size_t step;
};

/// Computes a tile of kRows rows and kVectors vectors of outputs. It also prefetches the rows of
/// `out` for the next tile. With Rows::in_order, it also prefetches the rows of x for that tile.
/// The hardware prefetcher does not anticipate the start of a row. If kFetches is true, it also
/// prefetches the weights of `fetch`.
template <Rows kOrder, std::size_t kRows, std::size_t kVectors, bool kFetches, class Weight>
HWY_INLINE void multiply_tile(const Block<Weight>& block, std::size_t row, std::size_t column,
                              Fetch fetch) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr bool kInOrder = kOrder == Rows::in_order;
  const float* x = block.x + row * block.x_pitch;
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
      __builtin_prefetch(out + (r + kRows) * block.out_pitch + v * lanes, 1, 2);
  for (std::size_t i = 0; i < block.inputs; ++i, weights += kPanelWidth, x += input_step) {
    if (kInOrder && i % kLineFloats == 0)
      for (std::size_t r = 0; r < kRows; ++r)
        __builtin_prefetch(x + (r + kRows) * row_step, 0, 2);
    if constexpr (kFetches) {
      for (std::size_t at = 0; at < fetch.step; at += kLineBytes)
        __builtin_prefetch(fetch.from + at, 0, 2);
      fetch.from += fetch.step;
    }
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

/// Returns the number of rows of the next tile, if `rows` rows are left. Tiles get about equal
/// heights, because a tile with few rows has too few independent sums. Interleaved rows
/// (Rows::interleaved) are already divided into tiles of kTileRows.
template <Rows kOrder>
HWY_INLINE std::size_t next_height(std::size_t rows) {
  if (kOrder == Rows::interleaved) return std::min(rows, kTileRows);
  const std::size_t tiles = (rows + kTileRows - 1) / kTileRows;
  return (rows + tiles - 1) / tiles;
}

/// Computes a tile of `height` rows. `height` is at most kRows.
template <Rows kOrder, std::size_t kRows, std::size_t kVectors, bool kFetches, class Weight>
HWY_INLINE void multiply_height(const Block<Weight>& block, std::size_t height, std::size_t row,
                                std::size_t column, Fetch fetch) {
  if (height == kRows)
    multiply_tile<kOrder, kRows, kVectors, kFetches>(block, row, column, fetch);
  else if constexpr (kRows > 1)
    multiply_height<kOrder, kRows - 1, kVectors, kFetches>(block, height, row, column, fetch);
}

template <Rows kOrder, std::size_t kVectors, class Weight>
HWY_INLINE void multiply_rows(const Block<Weight>& block, std::size_t rows, std::size_t column,
                              std::size_t step, std::size_t& fetching, const char*& next) {
  for (std::size_t row = 0; row < rows;) {
    const std::size_t height = next_height<kOrder>(rows - row);
    if (kVectors == kTileVectors && fetching > 0) {
      multiply_height<kOrder, kTileRows, kVectors, true>(block, height, row, column, {next, step});
      next += step * block.inputs;
      --fetching;
    } else {
      multiply_height<kOrder, kTileRows, kVectors, false>(block, height, row, column, {});
    }
    row += height;
  }
}

/// Multiplies `rows` rows by one block of a panel of weights, and prefetches the next block.
template <Rows kOrder, class Weight>
HWY_NOINLINE void multiply_block(const Block<Weight>& block, std::size_t rows) {
  const std::size_t lanes = hn::Lanes(Floats());
  const std::size_t width = kTileVectors * lanes;
  const std::size_t tiles = (rows + kTileRows - 1) / kTileRows * (block.columns / width);
  std::size_t fetching = std::min(tiles, kFetchingTiles);
  const std::size_t step = fetching > 0 ? fetch_step<Weight>(tiles) : 0;
  const char* next = reinterpret_cast<const char*>(block.next);
  std::size_t column = 0;
  for (; column + width <= block.columns; column += width)
    multiply_rows<kOrder, kTileVectors>(block, rows, column, step, fetching, next);
  if (block.columns - column == 2 * lanes)
    multiply_rows<kOrder, 2>(block, rows, column, step, fetching, next);
  else if (block.columns - column == lanes)
    multiply_rows<kOrder, 1>(block, rows, column, step, fetching, next);
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
