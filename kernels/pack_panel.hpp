#pragma once

#include <algorithm>
#include <cstddef>

#include <mgpu/kernels/packed_product.hpp>

namespace mgpu::kernels::cpu {

/// Some inputs of up to 48 outputs of a matrix, as PackPanelsArgs has it.
template <class Weight>
struct PanelSource {
  const Weight* weight;  // of the first output and input
  std::size_t outputs;   // <= 48
  std::size_t inputs;
  std::size_t output_stride;
  std::size_t input_stride;
};

/// The weights of one output lie one after the other: a cache line of each at a time.
template <class Weight>
void transpose_into(const PanelSource<Weight>& source, Weight* panel) {
  constexpr std::size_t kLine = 16;
  for (std::size_t first = 0; first < source.inputs; first += kLine) {
    const std::size_t end = std::min(first + kLine, source.inputs);
    for (std::size_t o = 0; o < source.outputs; ++o)
      for (std::size_t i = first; i < end; ++i)
        panel[i * kPanelWidth + o] =
            source.weight[o * source.output_stride + i * source.input_stride];
  }
}

/// panel [inputs, 48] written; missing outputs are zeros.
template <class Weight>
void pack_panel(const PanelSource<Weight>& source, Weight* panel) {
  if (source.output_stride != 1) transpose_into(source, panel);
  for (std::size_t i = 0; i < source.inputs; ++i, panel += kPanelWidth) {
    if (source.output_stride == 1)
      std::copy_n(source.weight + i * source.input_stride, source.outputs, panel);
    if (source.outputs < kPanelWidth)
      std::fill(panel + source.outputs, panel + kPanelWidth, Weight{});
  }
}

}  // namespace mgpu::kernels::cpu
