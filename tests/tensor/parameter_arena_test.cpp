#include <cmath>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/tensor/parameter_arena.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::tensor {
namespace {

std::vector<ParameterSpec> two_specs() {
  return {{"a.weight", {3, 5}, 0.5, 0.0, true}, {"a.bias", {3}, 0.0, 2.0, false}};
}

/// Runs backward for the sum of y = x W^T + b.
void backward(const ParameterArena& arena) {
  at::linear(at::ones({4, 5}), arena.parameter("a.weight"), arena.parameter("a.bias"))
      .sum()
      .backward();
}

TEST(ParameterArenaTest, ParametersStartOnCacheLinesAndGapsAreZero) {
  const ParameterArena arena(two_specs(), Device{}, 1);
  EXPECT_EQ(arena.span(0).begin, 0);
  EXPECT_EQ(arena.span(1).begin, 16);
  EXPECT_EQ(arena.weights().numel(), 32);
  EXPECT_EQ(arena.num_parameters(), 18);
  EXPECT_EQ(arena.weights()[15].item<float>(), 0.0F);
  EXPECT_EQ(arena.weights().narrow(0, 16, 3).sum().item<float>(), 6.0F);
}

TEST(ParameterArenaTest, ItsSizeIsKnownBeforeItIsThere) {
  EXPECT_EQ(arena_size(two_specs()), 32);  // 15 and 3 elements, each to a multiple of 16
  EXPECT_EQ(arena_size({}), 0);
  EXPECT_EQ(arena_size({{"too large for any machine", {1 << 20, 1 << 20, 1 << 10}}}),
            std::int64_t{1} << 50);
}

TEST(ParameterArenaTest, BackwardAddsToTheFlatGradients) {
  ParameterArena arena(two_specs(), Device{}, 1);
  const void* memory = arena.gradients().const_data_ptr();
  backward(arena);
  backward(arena);

  EXPECT_TRUE(arena.gradient(0).equal(at::full({3, 5}, 8.0F)));
  EXPECT_TRUE(arena.gradient(1).equal(at::full({3}, 8.0F)));
  EXPECT_EQ(arena.parameter(0).grad().const_data_ptr(), memory);
  arena.zero_gradients();
  backward(arena);
  EXPECT_TRUE(arena.gradient(0).equal(at::full({3, 5}, 4.0F)));
}

TEST(ParameterArenaTest, TheHookHearsOfEachGradientWhenItIsThere) {
  ParameterArena arena(two_specs(), Device{}, 1);
  std::vector<std::size_t> heard;
  arena.on_gradient_ready([&](std::size_t index) {
    heard.push_back(index);
    EXPECT_EQ(arena.gradient(index).max().item<float>(), 4.0F);
  });
  backward(arena);
  EXPECT_EQ(heard.size(), 2U);
  EXPECT_NE(heard[0], heard[1]);

  arena.on_gradient_ready({});
  backward(arena);
  EXPECT_EQ(heard.size(), 2U);
}

TEST(ParameterArenaTest, WritingTheArenaChangesTheParameters) {
  const ParameterArena arena(two_specs(), Device{}, 1);
  arena.weights().fill_(3.0F);
  EXPECT_TRUE(arena.parameter(0).equal(at::full({3, 5}, 3.0F)));
}

TEST(ParameterArenaTest, InitialValuesDependOnSeedAndNameOnly) {
  const ParameterArena a(two_specs(), Device{}, 1);
  const ParameterArena b({{"other", {7}, 0.5}, {"a.weight", {3, 5}, 0.5}}, Device{}, 1);
  EXPECT_TRUE(a.parameter("a.weight").equal(b.parameter("a.weight")));
  EXPECT_FALSE(a.parameter(0).equal(ParameterArena(two_specs(), Device{}, 2).parameter(0)));
}

// A uniform's fourth moment is 9/5 of its squared variance. So the variance of n draws has the
// relative standard error sqrt(0.8 / n), here 0.9 %. The mean has the standard error 0.5 / 100.
TEST(ParameterArenaTest, InitialValuesHaveTheAskedDeviation) {
  const ParameterArena arena({{"w", {100, 100}, 0.5}}, Device{}, 1);
  const at::Tensor w = arena.parameter(0).to(at::kDouble);
  EXPECT_NEAR(w.mean().item<double>(), 0.0, 4.0 * 0.005);
  EXPECT_NEAR(w.square().mean().item<double>(), 0.25, 4.0 * 0.009 * 0.25);
}

TEST(ParameterArenaTest, AnUnknownNameIsRefused) {
  const ParameterArena arena(two_specs(), Device{}, 1);
  EXPECT_THROW(arena.parameter("b.weight"), Error);
}

TEST(TensorViewTest, ViewAndTensorShareMemory) {
  const at::Tensor x = at::arange(6, at::kFloat).view({2, 3});
  const BufferView view = view_of(x);
  EXPECT_EQ(view.data, x.const_data_ptr());
  EXPECT_EQ(view.bytes(), 24U);
  EXPECT_EQ(view.dtype, DType::f32);
  EXPECT_EQ(view.device, Device{});

  static_cast<float*>(view.data)[5] = 10.0F;
  EXPECT_EQ(x.sum().item<float>(), 20.0F);
}

TEST(TensorViewTest, AllTypesGoThereAndBack) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64,
                            DType::u8, DType::u32, DType::u64})
    EXPECT_EQ(dtype_of(scalar_type(dtype)), dtype);
  EXPECT_THROW(dtype_of(at::kComplexFloat), Error);
}

TEST(TensorViewTest, ATransposedTensorIsRefused) {
  EXPECT_THROW(view_of(at::ones({2, 3}).t()), ShapeError);
}

}  // namespace
}  // namespace mgpu::tensor
