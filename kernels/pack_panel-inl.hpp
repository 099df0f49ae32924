// Packs weights into GEMM panels. This file is compiled once per instruction set; see
// foreach_target.h of Highway.
#if defined(MGPU_KERNELS_PACK_PANEL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MGPU_KERNELS_PACK_PANEL_INL
#undef MGPU_KERNELS_PACK_PANEL_INL
#else
#define MGPU_KERNELS_PACK_PANEL_INL
#endif

#include <algorithm>
#include <cstddef>

#include <hwy/highway.h>

#include <mgpu/kernels/packed_product.hpp>

#include "tile_shape-inl.hpp"
#include "transpose_four-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Weights to be packed into one panel, from some inputs to up to kPanelWidth outputs, with
/// strides as in PackPanelsArgs.
template <class Weight>
struct PanelSource {
  const Weight* weight;  // weight of the first output and the first input
  std::size_t outputs;   // <= kPanelWidth
  std::size_t inputs;
  std::size_t output_stride;
  std::size_t input_stride;

  const Weight* at(std::size_t output, std::size_t input) const {
    return weight + output * output_stride + input * input_stride;
  }
};

template <class Weight>
void transpose_elements(const PanelSource<Weight>& source, std::size_t outputs_begin,
                        std::size_t inputs_begin, std::size_t inputs_end, Weight* panel) {
  for (std::size_t o = outputs_begin; o < source.outputs; ++o)
    for (std::size_t i = inputs_begin; i < inputs_end; ++i)
      panel[i * kPanelWidth + o] = *source.at(o, i);
}

/// Packs the weights of `source`, 16 inputs at a time. If an output's weights are contiguous in
/// memory, 16 float32 weights fill one cache line.
template <class Weight>
void transpose_into(const PanelSource<Weight>& source, Weight* panel) {
  constexpr std::size_t kLine = 16;
  for (std::size_t first = 0; first < source.inputs; first += kLine) {
    const std::size_t end = std::min(first + kLine, source.inputs);
    std::size_t o = 0;
#if HWY_TARGET != HWY_SCALAR
    if constexpr (sizeof(Weight) == sizeof(float)) {
      if (source.input_stride == 1 && end == first + kLine)
        for (; o + 4 <= source.outputs; o += 4)
          for (std::size_t i = first; i < end; i += 4)
            transpose_four(source.at(o, i), source.output_stride, panel + i * kPanelWidth + o,
                           kPanelWidth);
    }
#endif
    transpose_elements(source, o, first, end, panel);
  }
}

/// Packs the weights of `source`, which are contiguous along the outputs.
template <class Weight>
void copy_into(const PanelSource<Weight>& source, Weight* panel) {
  constexpr std::size_t kAhead =
      24;  // prefetch distance in inputs, which are too far apart for the hardware prefetcher
  const hn::CappedTag<Weight, 16> d;  // a panel has a whole number of these vectors
  for (std::size_t i = 0; i < source.inputs; ++i, panel += kPanelWidth) {
    const Weight* weights = source.at(0, i);
    if (source.outputs < kPanelWidth) {
      std::copy_n(weights, source.outputs, panel);
      continue;
    }
    for (std::size_t o = 0; o < kPanelWidth; o += 64 / sizeof(Weight))
      __builtin_prefetch(weights + kAhead * source.input_stride + o);
    for (std::size_t o = 0; o < kPanelWidth; o += hn::Lanes(d))
      hn::StoreU(hn::LoadU(d, weights + o), d, panel + o);
  }
}

/// Writes a panel [inputs, kPanelWidth] of the weights of `source`. If `source` has fewer
/// than kPanelWidth outputs, the last columns of the panel are zeros.
template <class Weight>
void pack_panel(const PanelSource<Weight>& source, Weight* panel) {
  if (source.output_stride == 1)
    copy_into(source, panel);
  else
    transpose_into(source, panel);
  if (source.outputs == kPanelWidth) return;
  for (std::size_t i = 0; i < source.inputs; ++i, panel += kPanelWidth)
    std::fill(panel + source.outputs, panel + kPanelWidth, Weight{});
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
