// A few hundred rows at a time, so that their inputs stay in the second cache for all panels.
#include <algorithm>
#include <vector>

#include <hwy/aligned_allocator.h>

#include <mgpu/kernels/packed_product.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "packed_product_cpu.cpp"
// foreach_target.h comes before whatever is compiled once per target.
// clang-format off
#include <hwy/foreach_target.h>
// clang-format on

#include "pack_panel-inl.hpp"
#include "product_tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace {

constexpr std::size_t kRowBlock = 256;

/// Up to kRowBlock rows of x.
struct FewRows {
  const float* x;
  std::size_t pitch;
};

/// All inputs of `columns` outputs of one panel; `out` has room for them in whole vectors.
template <class Weight>
void multiply_panel(const PackedProductArgs& args, FewRows few, const Weight* panel,
                    std::size_t columns, float* out, std::size_t out_pitch) {
  const std::size_t at_once = input_block(args.inputs);
  for (std::size_t i = 0; i < args.inputs; i += at_once) {
    const std::size_t inputs = std::min(at_once, args.inputs - i);
    const Block<Weight> block{few.x + i, few.pitch, panel + i * kPanelWidth,  inputs,
                              out,       out_pitch, written_columns(columns), i == 0};
    multiply_block<Rows::in_order, true>(block, args.rows);
  }
}

template <class Weight>
void multiply_few_rows(const PackedProductArgs& args, FewRows few) {
  const auto* panels = static_cast<const Weight*>(args.panels);
  for (std::size_t first = 0; first < args.outputs; first += kPanelWidth) {
    const std::size_t columns = std::min(kPanelWidth, args.outputs - first);
    const Weight* panel = panels + first * args.inputs;
    if (written_columns(columns) == columns) {
      multiply_panel(args, few, panel, columns, args.out + first, args.outputs);
      continue;
    }
    std::vector<float> last(args.rows * kPanelWidth);
    multiply_panel(args, few, panel, columns, last.data(), kPanelWidth);
    for (std::size_t n = 0; n < args.rows; ++n)
      std::copy_n(last.data() + n * kPanelWidth, columns, args.out + n * args.outputs + first);
  }
}

/// Weights are moved as they are: of their type only the size matters.
template <class Weight>
void pack_all(const PackPanelsArgs& args) {
  const auto* weight = static_cast<const Weight*>(args.weight);
  auto* panels = static_cast<Weight*>(args.panels);
  for (std::size_t first = 0; first < args.outputs; first += kPanelWidth) {
    const PanelSource<Weight> source{weight + first * args.output_stride,
                                     std::min(kPanelWidth, args.outputs - first), args.inputs,
                                     args.output_stride, args.input_stride};
    pack_panel(source, panels + first * args.inputs);
  }
}

}  // namespace

void multiply(const PackedProductArgs& args) {
  const bool spreads = args.inputs % kSharedSets == 0 && args.rows >= kTileRows;
  hwy::AlignedFreeUniquePtr<float[]> copy;
  if (spreads)
    copy = hwy::AllocateAligned<float>(std::min(kRowBlock, args.rows) * spread_pitch(args.inputs));
  for (std::size_t row = 0; row < args.rows; row += kRowBlock) {
    PackedProductArgs some = args;
    some.x += row * args.inputs;
    some.out += row * args.outputs;
    some.rows = std::min(kRowBlock, args.rows - row);
    FewRows few{some.x, args.inputs};
    if (spreads) {
      spread_rows(some.x, args.inputs, some.rows, args.inputs, copy.get());
      few = {copy.get(), spread_pitch(args.inputs)};
    }
    if (args.type == WeightType::bf16)
      multiply_few_rows<hwy::bfloat16_t>(some, few);
    else
      multiply_few_rows<float>(some, few);
  }
}

void pack(const PackPanelsArgs& args) {
  if (args.type == WeightType::bf16)
    pack_all<std::uint16_t>(args);
  else
    pack_all<float>(args);
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(multiply);
HWY_EXPORT(pack);

void packed_product(const PackedProductArgs& args) {
  if (args.inputs == 0) {
    std::fill_n(args.out, args.rows * args.outputs, 0.0F);
    return;
  }
  HWY_DYNAMIC_DISPATCH(multiply)(args);
}

void pack_panels(const PackPanelsArgs& args) {
  HWY_DYNAMIC_DISPATCH(pack)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
