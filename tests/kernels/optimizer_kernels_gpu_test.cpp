#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/kernels/accumulate.hpp>
#include <mgpu/kernels/adamw_step.hpp>
#include <mgpu/kernels/squared_norm.hpp>

#include "on_device.hpp"
#include "random_values.hpp"
#include "reference.hpp"

namespace mgpu::kernels {
namespace {

class OptimizerGpuTest : public GpuTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(OptimizerGpuTest, AdamwIsTheReference) {
  const std::size_t count = GetParam();
  const std::vector<float> g = normals(count, 1);
  std::vector<float> w = normals(count, 2);
  std::vector<float> m = normals(count, 3, 0.1F);
  std::vector<float> v(count, 0.04F);
  const OnDevice d_w(w);
  const OnDevice d_g(g);
  const OnDevice d_m(m);
  const OnDevice d_v(v);
  AdamwArgs args{w.data(), g.data(), m.data(), v.data(), count, 1e-2F,  0.9F,
                 0.99F,    1e-8F,    0.1F,     0.7F,     0.19F, 0.0199F};
  const AdamwRuns runs = reference::runs_of(count);
  reference::adamw_step(args, runs);
  args.weights = d_w.get();
  args.grads = d_g.get();
  args.m = d_m.get();
  args.v = d_v.get();
  cuda::adamw_step(args, runs, nullptr);

  const std::vector<float> actual = d_w.host();
  for (std::size_t i = 0; i < count; ++i)
    // About ten float roundings of values around 1.
    ASSERT_NEAR(actual[i], w[i], 1e-6F * (1.0F + std::fabs(w[i]))) << i;
}

TEST_P(OptimizerGpuTest, SquaredNormIsTheSum) {
  const std::size_t count = GetParam();
  const std::vector<float> x = normals(count, 4);
  double expected = 0.0;
  for (const float value : x)
    expected += static_cast<double>(value) * value;
  const OnDevice d_x(x);
  const OnDevice d_blocks(std::vector<double>(count / kNormBlock + 1));
  const OnDevice d_out(std::vector<double>{-1.0});

  cuda::squared_norm({d_x.get(), count, d_blocks.get(), d_out.get()}, nullptr);

  EXPECT_NEAR(d_out.host()[0], expected, 1e-12 * expected);
}

TEST_P(OptimizerGpuTest, AccumulateAdds) {
  const std::size_t count = GetParam();
  std::vector<float> sum = normals(count, 5);
  const std::vector<float> x = normals(count, 6);
  const OnDevice d_sum(sum);
  const OnDevice d_x(x);
  cuda::accumulate({d_sum.get(), d_x.get(), count}, nullptr);
  cpu::accumulate({sum.data(), x.data(), count});

  EXPECT_EQ(d_sum.host(), sum);
}

INSTANTIATE_TEST_SUITE_P(Sizes, OptimizerGpuTest,
                         testing::Values(0, 1, 31, 33, 257, 4097, 2000000));

}  // namespace
}  // namespace mgpu::kernels
