// Defines the sizes of the tiles of a product. The sums of a tile must fit the registers. On
// processors with 16 vector registers, the weights of a block fit the L1 cache. On other
// processors, they fit only the L2 cache. This file is compiled once per instruction set; see
// foreach_target.h of Highway.
#if defined(MGPU_KERNELS_TILE_SHAPE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MGPU_KERNELS_TILE_SHAPE_INL
#undef MGPU_KERNELS_TILE_SHAPE_INL
#else
#define MGPU_KERNELS_TILE_SHAPE_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

#include <mgpu/kernels/packed_product.hpp>

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3 || \
    HWY_TARGET == HWY_SSE2
constexpr std::size_t kTileRows = 6;  // 12 sums, 2 weights and one input in 16 registers
constexpr std::size_t kTileVectors = 2;
constexpr std::size_t kMaxInputs = 384;  // inputs of a block: 24 KiB of weights per panel, one
                                         // cache line per input
constexpr std::size_t kPanelWidth = 16;  // number of outputs of a tile with AVX2
#else
constexpr std::size_t kTileRows = 8;
constexpr std::size_t kTileVectors = 3;
constexpr std::size_t kMaxInputs = 512;  // inputs of a block: 96 KiB of weights per panel
constexpr std::size_t kPanelWidth = 48;  // number of outputs of a tile with AVX-512
#endif
static_assert(kMaxPanelWidth % kPanelWidth == 0);

constexpr std::size_t whole_panels(std::size_t outputs) {
  return (outputs + kPanelWidth - 1) / kPanelWidth;
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
