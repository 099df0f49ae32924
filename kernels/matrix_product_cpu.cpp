// Computes a GEMM in blocks of inputs, outputs and rows. Each block of weights is copied (packed)
// into the order in which the register tiles read it. A block of rows of x is copied in two cases:
// x is stored by columns, or the rows of x would share cache sets. The block of rows stays in the
// L2 cache while it is multiplied by all panels of a block of outputs.
#include <algorithm>
#include <cstring>

#include <hwy/aligned_allocator.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/matrix_product.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "matrix_product_cpu.cpp"
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

// With these sizes, a block of rows has at most 512 KiB, and a block of weights at most 2.1 MiB.
// The function interleave() fills kTilesAtOnce tiles together. Of each column of x, these tiles
// hold up to 64 floats (four cache lines).
constexpr std::size_t kRowsAtOnce = 256;
constexpr std::size_t kOutputsAtOnce = 22 * kMaxPanelWidth;
constexpr std::size_t kTilesAtOnce = 64 / kTileRows;

/// Returns the distance between tiles, counted in inputs. At this distance, tiles that are filled
/// together use different cache sets. For 512 inputs (16 KiB per tile) and with prefetched columns,
/// the two extra inputs raised the speed from 98 to 103 GFLOP/s on a Zen 4.
constexpr std::size_t tile_pitch(std::size_t inputs) {
  return inputs + 2;
}

/// Copies `count` rows of x into tiles [inputs, kTileRows]. The columns of x are contiguous. The
/// tiles are kTileRows * tile_pitch() floats apart. If the last tile is not full, zeros fill it up.
void interleave(const float* x, std::size_t input_stride, std::size_t count, std::size_t inputs,
                float* tiles) {
  constexpr std::size_t kAhead = 8;  // distance of the prefetch, in columns
  const std::size_t pitch = tile_pitch(inputs);
  for (std::size_t first = 0; first < count; first += kTilesAtOnce * kTileRows) {
    const std::size_t end = std::min(first + kTilesAtOnce * kTileRows, count);
    for (std::size_t i = 0; i < inputs; ++i) {
      const float* column = x + i * input_stride;
      const float* later = x + std::min(i + kAhead, inputs - 1) * input_stride;
      for (std::size_t row = first; row < end; row += kLineFloats)
        __builtin_prefetch(later + row);
      std::size_t row = first;
      for (; row + kTileRows <= end; row += kTileRows)
        std::memcpy(tiles + row * pitch + i * kTileRows, column + row, kTileRows * sizeof(float));
      if (row == end) continue;
      float* last = tiles + row * pitch + i * kTileRows;
      std::fill(std::copy(column + row, column + end, last), last + kTileRows, 0.0F);
    }
  }
}

/// Computes one matrix product in blocks.
class Product {
public:
  explicit Product(const MatrixProductArgs& args)
      : args_(args),
        in_order_(args.input_stride == 1),
        spreads_(in_order_ && args.row_stride % kSharedSets == 0 && args.rows >= kTileRows),
        rows_at_once_(std::min(args.rows, kRowsAtOnce)),
        inputs_at_once_(input_block(args.inputs)),
        panels_(aligned_floats(whole_panels(std::min(args.outputs, kOutputsAtOnce)) *
                               inputs_at_once_ * kPanelWidth)),
        last_(aligned_floats(rows_at_once_ * kPanelWidth)) {
    const std::size_t tiles = (rows_at_once_ + kTileRows - 1) / kTileRows;
    if (!in_order_) tiles_ = aligned_floats(tiles * kTileRows * tile_pitch(inputs_at_once_));
    if (spreads_) tiles_ = aligned_floats(rows_at_once_ * spread_pitch(inputs_at_once_));
  }

  void run() const {
    for (std::size_t input = 0; input < args_.inputs; input += inputs_at_once_) {
      const std::size_t inputs = std::min(inputs_at_once_, args_.inputs - input);
      for (std::size_t output = 0; output < args_.outputs; output += kOutputsAtOnce) {
        pack_outputs(output, input, inputs);
        for (std::size_t row = 0; row < args_.rows; row += kRowsAtOnce)
          multiply_rows(row, output, input, inputs);
      }
    }
  }

private:
  std::size_t end_of_outputs(std::size_t output) const {
    return std::min(output + kOutputsAtOnce, args_.outputs);
  }

  void pack_outputs(std::size_t first, std::size_t input, std::size_t inputs) const {
    float* panel = panels_.get();
    const std::size_t end = end_of_outputs(first);
    for (std::size_t output = first; output < end; output += kPanelWidth) {
      pack_panel<float>(
          {args_.weight + output * args_.output_stride + input * args_.weight_input_stride,
           std::min(kPanelWidth, end - output), inputs, args_.output_stride,
           args_.weight_input_stride},
          panel);
      panel += inputs * kPanelWidth;
    }
  }

  /// Multiplies up to kRowsAtOnce rows, starting at `row`, by the packed weights of the outputs
  /// that start at `first`. Uses the `inputs` columns that start at `input`.
  void multiply_rows(std::size_t row, std::size_t first, std::size_t input,
                     std::size_t inputs) const {
    const std::size_t rows = std::min(kRowsAtOnce, args_.rows - row);
    Block<float> block{};
    block.inputs = inputs;
    block.panel = panels_.get();
    block.is_first = input == 0 && !args_.adds;
    block.x = args_.x + row * args_.row_stride + input * args_.input_stride;
    block.x_pitch = args_.row_stride;
    if (!in_order_) {
      interleave(block.x, args_.input_stride, rows, inputs, tiles_.get());
      block.x = tiles_.get();
      block.x_pitch = tile_pitch(inputs);
    } else if (spreads_) {
      spread_rows(block.x, args_.row_stride, rows, inputs, tiles_.get());
      block.x = tiles_.get();
      block.x_pitch = spread_pitch(inputs);
    }
    const std::size_t end = end_of_outputs(first);
    for (std::size_t output = first; output < end; output += kPanelWidth) {
      block.next = block.panel + inputs * kPanelWidth;
      block.out = args_.out + row * args_.outputs + output;
      multiply_panel(block, rows, std::min(kPanelWidth, end - output));
      block.panel = block.next;
    }
  }

  void multiply_panel(Block<float> block, std::size_t rows, std::size_t outputs) const {
    block.columns = written_columns(outputs);
    block.out_pitch = args_.outputs;
    if (block.columns == outputs) {
      multiply(block, rows);
      return;
    }
    float* const out = block.out;  // a row of `out` has no room for whole vectors
    block.out = last_.get();
    block.out_pitch = kPanelWidth;
    for (std::size_t n = 0; n < rows && !block.is_first; ++n)
      std::copy_n(out + n * args_.outputs, outputs, last_.get() + n * kPanelWidth);
    multiply(block, rows);
    for (std::size_t n = 0; n < rows; ++n)
      std::copy_n(last_.get() + n * kPanelWidth, outputs, out + n * args_.outputs);
  }

  void multiply(const Block<float>& block, std::size_t rows) const {
    if (in_order_)
      multiply_block<Rows::in_order>(block, rows);
    else
      multiply_block<Rows::interleaved>(block, rows);
  }

  const MatrixProductArgs& args_;
  bool in_order_;
  bool spreads_;
  std::size_t rows_at_once_;
  std::size_t inputs_at_once_;
  hwy::AlignedFreeUniquePtr<float[]> panels_;  // [panels, inputs, kPanelWidth]
  hwy::AlignedFreeUniquePtr<float[]> last_;    // [rows, kPanelWidth] for a partial panel
  // Holds a copy of some rows of x. If spreads_ is true, the shape is [rows, spread_pitch(inputs)].
  // If in_order_ is false, the shape is that of tiles, [rows / kTileRows, tile_pitch(inputs),
  // kTileRows]. Otherwise x is read in place, and the buffer is empty.
  hwy::AlignedFreeUniquePtr<float[]> tiles_;
};

}  // namespace

void multiply_matrices(const MatrixProductArgs& args) {
  Product(args).run();
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(multiply_matrices);

void matrix_product(const MatrixProductArgs& args) {
  if (args.row_stride != 1 && args.input_stride != 1)
    throw ShapeError("matrix_product: x lies neither in rows nor in columns");
  if (args.inputs == 0 && !args.adds) std::fill_n(args.out, args.rows * args.outputs, 0.0F);
  if (args.inputs == 0 || args.rows == 0) return;
  HWY_DYNAMIC_DISPATCH(multiply_matrices)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
