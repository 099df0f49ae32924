// The product multiplies up to 256 rows at a time by all panels of packed weights. A block of
// inputs of these rows stays in the L2 cache.
#include <algorithm>

#include <hwy/aligned_allocator.h>

#include <mgpu/kernels/packed_product.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "packed_product_cpu.cpp"
// Highway requires foreach_target.h before all code that is compiled once per instruction set.
// clang-format off
#include <hwy/foreach_target.h>
// clang-format on

#include "aligned_floats.hpp"
#include "pack_panel-inl.hpp"
#include "product_tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace {

constexpr std::size_t kRowBlock = 256;

/// Multiplies up to kRowBlock rows by all panels of packed weights, one block of inputs after
/// another. So the block of inputs of all these rows stays in the L2 cache. The product writes
/// whole vectors of outputs. If the last vector would extend beyond a row of `out`, the last
/// panel's outputs are computed in a buffer (last_).
template <class Weight>
class FewRows {
public:
  explicit FewRows(const PackedProductArgs& args)
      : args_(args),
        spreads_(args.inputs % kSharedSets == 0 && args.rows >= kTileRows),
        at_once_(input_block(args.inputs)),
        panels_(static_cast<const Weight*>(args.panels)),
        count_(whole_panels(args.outputs)) {
    const std::size_t columns = columns_of(count_ - 1);
    if (written_columns(columns) != columns) last_ = aligned_floats(args.rows * kPanelWidth);
    if (spreads_) copy_ = aligned_floats(args.rows * spread_pitch(at_once_));
  }

  void run() const {
    for (std::size_t input = 0; input < args_.inputs; input += at_once_) {
      const std::size_t inputs = std::min(at_once_, args_.inputs - input);
      if (spreads_) spread_rows(args_.x + input, args_.inputs, args_.rows, inputs, copy_.get());
      for (std::size_t panel = 0; panel < count_; ++panel)
        multiply_panel(panel, input, inputs);
    }
    if (!last_) return;
    const std::size_t columns = columns_of(count_ - 1);
    for (std::size_t n = 0; n < args_.rows; ++n)
      std::copy_n(last_.get() + n * kPanelWidth, columns,
                  args_.out + (n + 1) * args_.outputs - columns);
  }

private:
  std::size_t columns_of(std::size_t panel) const {
    return std::min(kPanelWidth, args_.outputs - panel * kPanelWidth);
  }

  const Weight* weights(std::size_t panel, std::size_t input) const {
    return panels_ + (panel * args_.inputs + input) * kPanelWidth;
  }

  const Weight* weights_after(std::size_t panel, std::size_t input, std::size_t inputs) const {
    if (panel + 1 < count_) return weights(panel + 1, input);
    if (input + inputs < args_.inputs) return weights(0, input + inputs);
    return weights(count_, 0);  // end of the panels, where the next matrix may begin
  }

  void multiply_panel(std::size_t panel, std::size_t input, std::size_t inputs) const {
    const bool is_elsewhere = panel + 1 == count_ && last_ != nullptr;
    Block<Weight> block{};
    block.x = spreads_ ? copy_.get() : args_.x + input;
    block.x_pitch = spreads_ ? spread_pitch(inputs) : args_.inputs;
    block.panel = weights(panel, input);
    block.inputs = inputs;
    block.next = weights_after(panel, input, inputs);
    block.out = is_elsewhere ? last_.get() : args_.out + panel * kPanelWidth;
    block.out_pitch = is_elsewhere ? kPanelWidth : args_.outputs;
    block.columns = written_columns(columns_of(panel));
    block.is_first = input == 0;
    multiply_block<Rows::in_order>(block, args_.rows);
  }

  const PackedProductArgs& args_;
  bool spreads_;
  std::size_t at_once_;  // number of inputs in a block
  const Weight* panels_;
  std::size_t count_;
  hwy::AlignedFreeUniquePtr<float[]> copy_;  // [rows, spread_pitch(at_once_)]
  hwy::AlignedFreeUniquePtr<float[]> last_;  // [rows, kPanelWidth]
};

/// Packs weights without conversion. `Weight` is any type with the size of a weight.
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
  for (std::size_t row = 0; row < args.rows; row += kRowBlock) {
    PackedProductArgs some = args;
    some.x += row * args.inputs;
    some.out += row * args.outputs;
    some.rows = std::min(kRowBlock, args.rows - row);
    if (args.type == WeightType::bf16)
      FewRows<hwy::bfloat16_t>(some).run();
    else
      FewRows<float>(some).run();
  }
}

std::size_t width() {
  return kPanelWidth;
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

HWY_EXPORT(width);
HWY_EXPORT(multiply);
HWY_EXPORT(pack);

std::size_t panel_width() {
  return HWY_DYNAMIC_DISPATCH(width)();
}

void packed_product(const PackedProductArgs& args) {
  if (args.inputs == 0) std::fill_n(args.out, args.rows * args.outputs, 0.0F);
  if (args.inputs == 0 || args.outputs == 0) return;
  HWY_DYNAMIC_DISPATCH(multiply)(args);
}

void pack_panels(const PackPanelsArgs& args) {
  HWY_DYNAMIC_DISPATCH(pack)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
