#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/kernels/causal_attention.hpp>

#include "on_device.hpp"
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

class CausalAttentionGpuTest : public GpuTest, public testing::WithParamInterface<Shape> {};

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected,
                 float tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1.0F + std::fabs(expected[i]))) << i;
}

TEST_P(CausalAttentionGpuTest, IsTheReferenceForwardAndBackward) {
  const Shape shape = GetParam();
  const std::size_t count = shape.rows * shape.tokens * shape.heads * shape.head_dim;
  const std::vector<float> qkv = normals(3 * count, 1);
  const std::vector<float> grad_out = normals(count, 2);
  std::vector<std::int64_t> samples;
  for (std::size_t b = 0; b < shape.rows; ++b)
    samples.push_back(static_cast<std::int64_t>(100 + b));
  std::vector<float> out(count, 9.0F);
  std::vector<float> log_sums(shape.rows * shape.heads * shape.tokens, 9.0F);
  std::vector<float> grad_qkv(3 * count, 9.0F);
  const OnDevice d_qkv(qkv);
  const OnDevice d_grad_out(grad_out);
  const OnDevice d_samples(samples);
  const OnDevice d_out(out);
  const OnDevice d_log_sums(log_sums);
  const OnDevice d_grad_qkv(grad_qkv);
  const DropoutSite site{5, 8, shape.threshold};
  const CausalAttentionArgs host{qkv.data(),      samples.data(), out.data(),
                                 log_sums.data(), shape.rows,     shape.tokens,
                                 shape.heads,     shape.head_dim, site};
  const CausalAttentionArgs device{d_qkv.get(),      d_samples.get(), d_out.get(),
                                   d_log_sums.get(), shape.rows,      shape.tokens,
                                   shape.heads,      shape.head_dim,  site};
  reference::causal_attention(host);
  reference::causal_attention_grad({host, grad_out.data(), grad_qkv.data()});

  cuda::causal_attention(device, nullptr);
  cuda::causal_attention_grad({device, d_grad_out.get(), d_grad_qkv.get()}, nullptr);

  // The results are about 1, and are sums of at most 257 terms, with exp within 2 ulp. Only the
  // bound of the gradients differs from the test of the CPU kernel.
  expect_near(d_out.host(), out, 1e-5F);
  expect_near(d_log_sums.host(), log_sums, 1e-5F);
  expect_near(d_grad_qkv.host(), grad_qkv, 3e-5F);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CausalAttentionGpuTest,
                         testing::Values(Shape{1, 1, 1, 1, 0}, Shape{2, 31, 2, 8, 6554},
                                         Shape{1, 33, 3, 12, 0}, Shape{1, 127, 1, 32, 6554},
                                         Shape{1, 129, 2, 64, 32768}, Shape{2, 241, 4, 16, 6554},
                                         Shape{1, 257, 1, 48, 0}, Shape{0, 5, 1, 4, 0}));

}  // namespace
}  // namespace mgpu::kernels
