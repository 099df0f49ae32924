// A tile is up to 8 rows (4 where there are 16 registers) times three vectors of outputs, kept in
// registers over a block of inputs, whose panel stays in the first cache for all rows.
#include <algorithm>
#include <vector>

#include <mgpu/kernels/packed_product.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "packed_product_cpu.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

constexpr std::size_t kInputBlock = 128;         // 24 KiB of weights in float32
constexpr std::size_t kAhead = 8 * kPanelWidth;  // of the weights in use, on their way from memory
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
constexpr std::size_t kTileRows = 4;  // 12 sums, 3 weights and an input in 16 registers
#else
constexpr std::size_t kTileRows = 8;
#endif

HWY_INLINE Vector load(Floats d, const float* weights) {
  return hn::LoadU(d, weights);
}

HWY_INLINE Vector load(Floats d, const hwy::bfloat16_t* weights) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::bfloat16_t, Floats>(), weights));
}

/// One block of inputs of one panel.
template <class Weight>
struct Block {
  const float* x;       // first row, first input of the block
  std::size_t x_pitch;  //
  const Weight* panel;  // [inputs, 48]
  std::size_t inputs;   //
  float* out;           // first row, first output of the panel
  std::size_t out_pitch;
  bool is_first;  // sums start at 0
};

template <std::size_t kRows, bool kFetches, class Weight>
HWY_INLINE void multiply_tile(const Block<Weight>& block, std::size_t row, std::size_t column) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const float* x = block.x + row * block.x_pitch;
  const Weight* weights = block.panel + column;
  float* out = block.out + row * block.out_pitch + column;
  Vector sums[kRows][3];
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < 3; ++v)
      sums[r][v] =
          block.is_first ? hn::Zero(d) : hn::LoadU(d, out + r * block.out_pitch + v * lanes);
  for (std::size_t i = 0; i < block.inputs; ++i, weights += kPanelWidth) {
    if constexpr (kFetches)
      for (std::size_t v = 0; v < kPanelWidth; v += 64 / sizeof(Weight))
        hwy::Prefetch(weights + kAhead + v);
    const Vector w0 = load(d, weights);
    const Vector w1 = load(d, weights + lanes);
    const Vector w2 = load(d, weights + 2 * lanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const Vector input = hn::Set(d, x[r * block.x_pitch + i]);
      sums[r][0] = hn::MulAdd(input, w0, sums[r][0]);
      sums[r][1] = hn::MulAdd(input, w1, sums[r][1]);
      sums[r][2] = hn::MulAdd(input, w2, sums[r][2]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < 3; ++v)
      hn::StoreU(sums[r][v], d, out + r * block.out_pitch + v * lanes);
}

template <class Weight>
void multiply_block(const Block<Weight>& block, std::size_t rows) {
  const std::size_t tile_width = 3 * hn::Lanes(Floats());
  for (std::size_t column = 0; column < kPanelWidth; column += tile_width) {
    std::size_t row = 0;
    if (rows >= kTileRows) {
      multiply_tile<kTileRows, true>(block, 0, column);
      row = kTileRows;
    }
    for (; row + kTileRows <= rows; row += kTileRows)
      multiply_tile<kTileRows, false>(block, row, column);
    for (; row + 4 <= rows; row += 4)
      multiply_tile<4, false>(block, row, column);
    for (; row < rows; ++row)
      multiply_tile<1, false>(block, row, column);
  }
}

/// All inputs of one panel; `out` has room for its 48 columns.
template <class Weight>
void multiply_panel(const PackedProductArgs& args, const Weight* panel, float* out,
                    std::size_t out_pitch) {
  for (std::size_t i = 0; i < args.inputs; i += kInputBlock) {
    const std::size_t inputs = std::min(kInputBlock, args.inputs - i);
    multiply_block<Weight>(
        {args.x + i, args.inputs, panel + i * kPanelWidth, inputs, out, out_pitch, i == 0},
        args.rows);
  }
}

template <class Weight>
void multiply_all(const PackedProductArgs& args) {
  const auto* panels = static_cast<const Weight*>(args.panels);
  const std::size_t whole = args.outputs / kPanelWidth;
  for (std::size_t p = 0; p < whole; ++p)
    multiply_panel(args, panels + p * args.inputs * kPanelWidth, args.out + p * kPanelWidth,
                   args.outputs);
  const std::size_t rest = args.outputs - whole * kPanelWidth;
  if (rest == 0) return;
  std::vector<float> last(args.rows * kPanelWidth);
  multiply_panel(args, panels + whole * args.inputs * kPanelWidth, last.data(), kPanelWidth);
  for (std::size_t n = 0; n < args.rows; ++n)
    std::copy_n(last.data() + n * kPanelWidth, rest,
                args.out + n * args.outputs + whole * kPanelWidth);
}

}  // namespace

void multiply(const PackedProductArgs& args) {
  if (args.type == WeightType::bf16)
    multiply_all<hwy::bfloat16_t>(args);
  else
    multiply_all<float>(args);
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {
namespace {

HWY_EXPORT(multiply);

/// Moves weights as they are: of their type only the size matters.
template <class Weight>
void pack(const PackPanelsArgs& args) {
  const auto* weight = static_cast<const Weight*>(args.weight);
  auto* panels = static_cast<Weight*>(args.panels);
  for (std::size_t first = 0; first < args.outputs; first += kPanelWidth) {
    const std::size_t width = std::min(kPanelWidth, args.outputs - first);
    const Weight* from = weight + first * args.output_stride;
    Weight* line = panels + first * args.inputs;
    for (std::size_t i = 0; i < args.inputs; ++i, from += args.input_stride, line += kPanelWidth) {
      if (args.output_stride == 1) {
        std::copy_n(from, width, line);
      } else {
        for (std::size_t o = 0; o < width; ++o)
          line[o] = from[o * args.output_stride];
      }
      std::fill(line + width, line + kPanelWidth, Weight{});
    }
  }
}

}  // namespace

void packed_product(const PackedProductArgs& args) {
  if (args.inputs == 0) {
    std::fill_n(args.out, args.rows * args.outputs, 0.0F);
    return;
  }
  HWY_DYNAMIC_DISPATCH(multiply)(args);
}

void pack_panels(const PackPanelsArgs& args) {
  if (args.type == WeightType::bf16)
    pack<std::uint16_t>(args);
  else
    pack<float>(args);
}

}  // namespace mgpu::kernels::cpu
#endif
