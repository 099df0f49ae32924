#pragma once

#include <cstddef>
#include <cstdint>

// Shapes in this header: N rows, I inputs, O outputs, W = panel_width(), P = ceil(O / W) panels.
namespace mgpu::kernels {

inline constexpr std::size_t kMaxPanelWidth = 48;

enum class WeightType : std::uint8_t { f32, bf16 };

struct PackPanelsArgs {
  const void* weight;   // weight of output o and input i at o * output_stride + i * input_stride
  void* panels;         // [P, I, W] written; padded with zeros
  std::size_t outputs;  // O
  std::size_t inputs;   // I
  std::size_t output_stride;
  std::size_t input_stride;
  WeightType type = WeightType::f32;  // of weight and panels
};

struct PackedProductArgs {
  const float* x;                     // [N, I]
  const void* panels;                 // [P, I, W]
  float* out;                         // [N, O] written
  std::size_t rows;                   // N
  std::size_t inputs;                 // I
  std::size_t outputs;                // O
  WeightType type = WeightType::f32;  // type of the panels; products and sums are float32
};

/// packed_product() computes out = x * weight^T on one thread, where pack_panels() has packed the
/// weights [O, I] into GEMM panels. Each output is one chain of fused multiply-adds in the order of
/// the inputs. So the bits of an output depend only on its row of x and on its weights. There is no
/// CUDA version, because on GPUs cuBLAS multiplies by the unpacked weights.
///
/// Memory: pointers on the host. packed_product allocates up to 256 x 576 floats.
/// Source: Goto and van de Geijn, ACM TOMS 34 (2008): panels, blocks of the inner dimension.
namespace cpu {
/// Returns W, the number of outputs whose weights are interleaved in one panel. W depends on the
/// processor's instruction set, and kMaxPanelWidth is a multiple of W. With AVX2 and AVX-512, W is
/// the number of outputs of a register tile, so a tile reads its weights sequentially.
std::size_t panel_width();
void pack_panels(const PackPanelsArgs& args);
void packed_product(const PackedProductArgs& args);
}  // namespace cpu

}  // namespace mgpu::kernels
