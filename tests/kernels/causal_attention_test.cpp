#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/causal_attention.hpp>

#include "random_values.hpp"
#include "reference.hpp"

namespace mgpu::kernels {
namespace {

struct Shape {
  std::size_t rows;
  std::size_t tokens;
  std::size_t heads;
  std::size_t head_dim;
  std::uint32_t threshold;
};

struct Results {
  std::vector<float> out;
  std::vector<float> log_sums;
  std::vector<float> grad_qkv;
};

struct Inputs {
  explicit Inputs(const Shape& shape)
      : qkv(normals(shape.rows * shape.tokens * 3 * shape.heads * shape.head_dim, 1)),
        grad_out(normals(qkv.size() / 3, 2)) {
    for (std::size_t b = 0; b < shape.rows; ++b)
      samples.push_back(static_cast<std::int64_t>(100 + b));
  }

  std::vector<float> qkv;
  std::vector<float> grad_out;
  std::vector<std::int64_t> samples;
};

template <class Forward, class Backward>
Results run(const Shape& shape, const Inputs& in, Forward forward, Backward backward) {
  Results r{std::vector<float>(in.grad_out.size(), 9.0F),
            std::vector<float>(shape.rows * shape.heads * shape.tokens, 9.0F),
            std::vector<float>(in.qkv.size(), 9.0F)};
  const CausalAttentionArgs args{in.qkv.data(),     in.samples.data(), r.out.data(),
                                 r.log_sums.data(), shape.rows,        shape.tokens,
                                 shape.heads,       shape.head_dim,    {5, 8, shape.threshold}};
  forward(args);
  backward(CausalAttentionGradArgs{args, in.grad_out.data(), r.grad_qkv.data()});
  return r;
}

// By hand: the first query sees only itself, so its value comes out; the second has equal
// scores for both keys, so it gets the mean of the values.
TEST(CausalAttentionCpuTest, TwoTokensByHand) {
  const std::vector<float> qkv{0, 5, 2, /* second token */ 0, 5, 4};
  std::vector<float> out(2);
  std::vector<float> log_sums(2);
  cpu::causal_attention({qkv.data(), nullptr, out.data(), log_sums.data(), 1, 2, 1, 1, {}});

  EXPECT_FLOAT_EQ(out[0], 2.0F);
  EXPECT_FLOAT_EQ(out[1], 3.0F);
  EXPECT_FLOAT_EQ(log_sums[0], 0.0F);
  EXPECT_FLOAT_EQ(log_sums[1], std::log(2.0F));
}

TEST(CausalAttentionCpuTest, TooWideAHeadIsRefused) {
  EXPECT_THROW(cpu::causal_attention({nullptr, nullptr, nullptr, nullptr, 0, 0, 1, 65, {}}),
               ShapeError);
}

class CausalAttentionCpuTest : public testing::TestWithParam<Shape> {};

TEST_P(CausalAttentionCpuTest, IsTheReferenceForwardAndBackward) {
  const Shape shape = GetParam();
  const Inputs in(shape);

  const Results expected =
      run(shape, in, reference::causal_attention, reference::causal_attention_grad);
  const Results actual = run(shape, in, cpu::causal_attention, cpu::causal_attention_grad);

  // The results are about 1, and are sums of at most 241 terms. The error of float against double
  // is at most 241 half ulps, 1.5e-5; the bound here is smaller because rounding errors partly
  // cancel.
  for (std::size_t i = 0; i < actual.out.size(); ++i)
    ASSERT_NEAR(actual.out[i], expected.out[i], 1e-5F) << i;
  for (std::size_t i = 0; i < actual.log_sums.size(); ++i)
    ASSERT_NEAR(actual.log_sums[i], expected.log_sums[i], 1e-5F) << i;
  for (std::size_t i = 0; i < actual.grad_qkv.size(); ++i)
    ASSERT_NEAR(actual.grad_qkv[i], expected.grad_qkv[i],
                2e-5F * (1.0F + std::fabs(expected.grad_qkv[i])))
        << i;
}

INSTANTIATE_TEST_SUITE_P(Shapes, CausalAttentionCpuTest,
                         testing::Values(Shape{1, 1, 1, 1, 0}, Shape{2, 7, 1, 8, 0},
                                         Shape{1, 8, 2, 16, 0}, Shape{2, 9, 3, 12, 6554},
                                         Shape{1, 31, 2, 33, 0}, Shape{1, 48, 2, 24, 6554},
                                         Shape{1, 128, 1, 16, 6554}, Shape{1, 33, 1, 64, 32768},
                                         Shape{1, 129, 2, 16, 6554}, Shape{2, 241, 4, 16, 6554},
                                         Shape{0, 5, 1, 4, 0}));

}  // namespace
}  // namespace mgpu::kernels
