#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/tensor/wide_product.hpp>

namespace mgpu::tensor {
namespace {

/// Returns [rows, columns] numbers between -1 and 1 in a 16-bit type.
at::Tensor halves(std::int64_t rows, std::int64_t columns, double phase, at::ScalarType type) {
  return at::sin(at::arange(rows * columns, at::kFloat).mul_(0.7).add_(phase))
      .view({rows, columns})
      .to(type);
}

class WideProductTest : public testing::TestWithParam<at::ScalarType> {};

TEST_P(WideProductTest, SumsAreFloat32) {
  const at::Tensor x = halves(5, 300, 0.0, GetParam());
  const at::Tensor w = halves(300, 7, 1.0, GetParam()).t();  // not contiguous
  const at::Tensor exact = x.to(at::kDouble).mm(w.to(at::kDouble).t());

  const at::Tensor product = wide_product(x, w);
  at::Tensor sum = at::full({5, 7}, 100.0, at::kFloat);
  add_wide_product(sum, x, w);

  EXPECT_EQ(product.scalar_type(), at::kFloat);
  // A sum that is rounded to 16 bits differs by up to 0.02 or, around 100, by 0.25.
  EXPECT_LT((product.to(at::kDouble) - exact).abs().max().item<double>(), 1e-3);
  EXPECT_LT((sum.to(at::kDouble) - exact - 100.0).abs().max().item<double>(), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Types, WideProductTest, testing::Values(at::kBFloat16, at::kHalf));

}  // namespace
}  // namespace mgpu::tensor
