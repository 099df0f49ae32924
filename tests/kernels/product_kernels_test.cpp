#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/matrix_product.hpp>
#include <mgpu/kernels/packed_product.hpp>

#include "decoder_reference.hpp"
#include "random_values.hpp"

namespace mgpu::kernels {
namespace {

/// Returns the number of elements in all panels of a matrix.
std::size_t panel_floats(std::size_t outputs, std::size_t inputs) {
  const std::size_t width = cpu::panel_width();
  return (outputs + width - 1) / width * inputs * width;
}

std::vector<float> packed_product(const std::vector<float>& x, const std::vector<float>& weight,
                                  std::size_t inputs, bool is_transposed = false) {
  const std::size_t outputs = weight.size() / inputs;
  const std::size_t rows = x.size() / inputs;
  std::vector<float> panels(panel_floats(outputs, inputs));
  cpu::pack_panels({weight.data(), panels.data(), outputs, inputs, is_transposed ? 1 : inputs,
                    is_transposed ? outputs : 1});
  std::vector<float> out(rows * outputs, 99.0F);
  cpu::packed_product({x.data(), panels.data(), out.data(), rows, inputs, outputs});
  return out;
}

// Multiplies (1 2) by weights with the rows (3 4), (5 6) and (7 8).
TEST(PackedProductTest, ByHand) {
  const std::vector<float> expected{11.0F, 17.0F, 23.0F};

  EXPECT_EQ(packed_product({1, 2}, {3, 4, 5, 6, 7, 8}, 2), expected);
  EXPECT_EQ(packed_product({1, 2}, {3, 5, 7, 4, 6, 8}, 2, true), expected);
  EXPECT_TRUE(packed_product({}, {3, 4}, 2).empty());
}

TEST(PackedProductTest, IsTheReferenceAndARowsBitsAreItsOwn) {
  // The product reads a copy of rows that have 512 or 1,024 inputs.
  for (const std::size_t inputs : {1U, 31U, 256U, 257U, 512U, 600U, 1024U}) {
    for (const std::size_t outputs : {1U, 8U, 16U, 24U, 47U, 48U, 49U, 130U}) {
      const std::vector<float> weight = normals(inputs * outputs, 2);
      const std::vector<float> x = normals(29 * inputs, 1);
      const std::vector<float> out = packed_product(x, weight, inputs);
      const std::vector<double> expected = reference::product(x, weight, inputs);

      // A chain of I sums with terms around 1 has rounding errors of about sqrt(I) * sqrt(I) *
      // 2^-24.
      const double tolerance = 2e-7 * static_cast<double>(inputs) + 1e-6;
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_NEAR(out[i], expected[i], tolerance) << inputs << " " << outputs;
      for (std::size_t rows = 1; rows < 29; ++rows) {
        const std::vector<float> few(x.begin(),
                                     x.begin() + static_cast<std::ptrdiff_t>(rows * inputs));
        const std::vector<float> same = packed_product(few, weight, inputs);
        ASSERT_TRUE(std::equal(same.begin(), same.end(), out.begin())) << rows;
      }
    }
  }
}

template <class T>
std::vector<T> transposed(const std::vector<T>& matrix, std::size_t columns) {
  const std::size_t rows = matrix.size() / columns;
  std::vector<T> result(matrix.size());
  for (std::size_t i = 0; i < matrix.size(); ++i)
    result[i % columns * rows + i / columns] = matrix[i];
  return result;
}

struct Layout {
  std::size_t outputs;
  std::size_t inputs;
  std::size_t output_stride;
  std::size_t input_stride;
};

std::vector<float> product_of_halves(const std::vector<float>& x, const std::uint16_t* weight,
                                     const Layout& layout) {
  const std::size_t rows = x.size() / layout.inputs;
  std::vector<std::uint16_t> panels(panel_floats(layout.outputs, layout.inputs), 0xFFFF);
  std::vector<float> out(rows * layout.outputs, 99.0F);
  cpu::pack_panels({weight, panels.data(), layout.outputs, layout.inputs, layout.output_stride,
                    layout.input_stride, WeightType::bf16});
  cpu::packed_product(
      {x.data(), panels.data(), out.data(), rows, layout.inputs, layout.outputs, WeightType::bf16});
  return out;
}

// A bfloat16 number is a float32 number whose last 16 bits are zeros.
TEST(PackedProductTest, WeightsOfHalfTheBytesGiveTheBitsOfTheSameWeights) {
  for (const std::size_t inputs : {1U, 31U, 257U}) {
    for (const std::size_t outputs : {1U, 48U, 130U}) {
      std::vector<std::uint16_t> halves;
      std::vector<float> weight = normals(inputs * outputs, 2);
      for (float& value : weight) {
        halves.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
        value = std::bit_cast<float>(std::uint32_t{halves.back()} << 16);
      }
      const std::vector<float> x = normals(13 * inputs, 1);
      const std::vector<float> expected = packed_product(x, weight, inputs);
      const std::vector<std::uint16_t> transposed_weight = transposed(halves, inputs);

      EXPECT_EQ(product_of_halves(x, halves.data(), {outputs, inputs, inputs, 1}), expected);
      EXPECT_EQ(product_of_halves(x, transposed_weight.data(), {outputs, inputs, 1, outputs}),
                expected);
    }
  }
}

// Rows are processed in blocks of 256; the last block has 5.
TEST(PackedProductTest, ABlockOfRowsEndsNowhere) {
  constexpr std::size_t kInputs = 7;
  constexpr std::size_t kOutputs = 50;
  const std::vector<float> weight = normals(kInputs * kOutputs, 2);
  const std::vector<float> x = normals(261 * kInputs, 1);
  const std::vector<float> out = packed_product(x, weight, kInputs);

  for (const std::size_t row : {0U, 255U, 256U, 260U}) {
    const std::vector<float> alone(x.begin() + static_cast<std::ptrdiff_t>(row * kInputs),
                                   x.begin() + static_cast<std::ptrdiff_t>((row + 1) * kInputs));
    const std::vector<float> same = packed_product(alone, weight, kInputs);
    EXPECT_TRUE(std::equal(same.begin(), same.end(),
                           out.begin() + static_cast<std::ptrdiff_t>(row * kOutputs)))
        << row;
  }
}

// Stores x normally or transposed, and the weights as well. 1030 rows are five blocks.
TEST(MatrixProductTest, HasThePackedProductsBitsWhateverTheStrides) {
  for (const std::size_t rows : {1U, 7U, 13U, 40U, 1030U}) {
    for (const std::size_t inputs : {1U, 31U, 600U}) {
      const std::size_t outputs = rows == 1030 ? 17 : 100;
      const std::vector<float> x = normals(rows * inputs, 1);
      const std::vector<float> weight = normals(outputs * inputs, 2);
      const std::vector<float> expected = packed_product(x, weight, inputs);
      const std::vector<float> columns = transposed(x, inputs);
      const std::vector<float> transposed_weight = transposed(weight, inputs);
      std::vector<float> out(expected.size(), 99.0F);
      MatrixProductArgs args{x.data(), weight.data(), out.data(), rows, inputs, outputs, inputs,
                             1,        inputs,        1,          false};

      cpu::matrix_product(args);
      EXPECT_EQ(out, expected) << rows << " " << inputs;
      out.assign(out.size(), 99.0F);
      args.x = columns.data();
      args.row_stride = 1;
      args.input_stride = rows;
      cpu::matrix_product(args);
      EXPECT_EQ(out, expected) << rows << " " << inputs;
      out.assign(out.size(), 0.0F);
      args.weight = transposed_weight.data();
      args.output_stride = 1;
      args.weight_input_stride = outputs;
      args.adds = true;
      cpu::matrix_product(args);
      EXPECT_EQ(out, expected) << rows << " " << inputs;
    }
  }
}

// Expects 100 + 1 * 3 + 2 * 4.
TEST(MatrixProductTest, Adds) {
  const std::vector<float> x{1.0F, 2.0F};
  const std::vector<float> weight{3.0F, 4.0F};
  float out = 100.0F;
  MatrixProductArgs args{x.data(), weight.data(), &out, 1, 2, 1, 2, 1, 2, 1, true};
  cpu::matrix_product(args);
  EXPECT_EQ(out, 111.0F);
  args.inputs = 0;
  cpu::matrix_product(args);
  EXPECT_EQ(out, 111.0F);
  args.adds = false;
  cpu::matrix_product(args);
  EXPECT_EQ(out, 0.0F);
  args.row_stride = 3;
  args.input_stride = 2;
  EXPECT_THROW(cpu::matrix_product(args), ShapeError);
}

}  // namespace
}  // namespace mgpu::kernels
