#pragma once

#include <algorithm>
#include <cstddef>

#include <mgpu/kernels/packed_product.hpp>

namespace mgpu::kernels::cpu {

/// Some inputs of up to 48 outputs of a matrix, as PackPanelsArgs has it.
struct PanelSource {
  const float* weight;  // of the first output and input
  std::size_t outputs;  // <= 48
  std::size_t inputs;
  std::size_t output_stride;
  std::size_t input_stride;
};

/// panel [inputs, 48] written; missing outputs are zeros.
inline void pack_panel(const PanelSource& source, float* panel) {
  const float* from = source.weight;
  for (std::size_t i = 0; i < source.inputs; ++i) {
    if (source.output_stride == 1) {
      std::copy_n(from, source.outputs, panel);
    } else {
      for (std::size_t o = 0; o < source.outputs; ++o)
        panel[o] = from[o * source.output_stride];
    }
    std::fill(panel + source.outputs, panel + kPanelWidth, 0.0F);
    from += source.input_stride;
    panel += kPanelWidth;
  }
}

}  // namespace mgpu::kernels::cpu
