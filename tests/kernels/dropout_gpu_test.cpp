#include <vector>

#include <gtest/gtest.h>

#include <mgpu/kernels/dropout.hpp>

#include "on_device.hpp"
#include "random_values.hpp"
#include "reference.hpp"

namespace mgpu::kernels {
namespace {

struct Shape {
  std::size_t rows;
  std::size_t lines;
  std::size_t elements;
};

class DropoutGpuTest : public GpuTest, public testing::WithParamInterface<Shape> {};

TEST_P(DropoutGpuTest, IsTheReference) {
  const auto [rows, lines, elements] = GetParam();
  const std::vector<float> x = normals(rows * lines * elements, 1);
  const std::vector<float> residual = normals(x.size(), 2);
  std::vector<std::int64_t> samples(rows);
  for (std::size_t b = 0; b < rows; ++b)
    samples[b] = static_cast<std::int64_t>(b) + (std::int64_t{1} << 33);
  std::vector<float> expected(x.size(), 9.0F);
  const OnDevice d_x(x);
  const OnDevice d_residual(residual);
  const OnDevice d_samples(samples);
  const OnDevice d_out(expected);
  const DropoutSite site{11, 6, 6554};
  reference::dropout({x.data(), residual.data(), samples.data(), expected.data(), rows, lines,
                      elements, 1024, site});

  cuda::dropout({d_x.get(), d_residual.get(), d_samples.get(), d_out.get(), rows, lines, elements,
                 1024, site},
                nullptr);

  const std::vector<float> actual = d_out.host();
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_FLOAT_EQ(actual[i], expected[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Shapes, DropoutGpuTest,
                         testing::Values(Shape{1, 1, 1}, Shape{2, 3, 31}, Shape{2, 2, 33},
                                         Shape{3, 1, 129}, Shape{1, 5, 1000}, Shape{70000, 1, 3},
                                         Shape{0, 1, 7}));

}  // namespace
}  // namespace mgpu::kernels
