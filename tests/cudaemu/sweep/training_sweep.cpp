// Sweeps the element-wise kernels of training: dropout, adamw_step, squared_norm, accumulate.
#include <ostream>

#include <mgpu/kernels/accumulate.hpp>
#include <mgpu/kernels/adamw_step.hpp>
#include <mgpu/kernels/dropout.hpp>
#include <mgpu/kernels/squared_norm.hpp>

#include "reference.hpp"
#include "sweep.hpp"

namespace mgpu::kernels {
namespace {

struct Lines {
  std::size_t rows;
  std::size_t lines;
  std::size_t elements;
  std::size_t pitch;
  std::uint32_t threshold;
};

std::ostream& operator<<(std::ostream& out, const Lines& shape) {
  return out << shape.rows << " rows of " << shape.lines << " lines of " << shape.elements
             << ", pitch " << shape.pitch << ", dropout " << shape.threshold << "/65536";
}

class DropoutSweep : public GpuTest, public testing::WithParamInterface<Lines> {};

TEST_P(DropoutSweep, IsTheCpus) {
  const auto [rows, lines, elements, pitch, threshold] = GetParam();
  const std::vector<float> x = normals(rows * lines * elements, 1);
  std::vector<std::int64_t> samples(rows);
  for (std::size_t b = 0; b < rows; ++b)
    samples[b] = static_cast<std::int64_t>(b) + (std::int64_t{1} << 33);
  std::vector<float> expected(x.size(), kUntouched);
  const OnDevice d_x(x), d_out(expected);
  const OnDevice d_samples(samples);
  const DropoutSite site{11, 6, threshold};
  cpu::dropout(
      {x.data(), nullptr, samples.data(), expected.data(), rows, lines, elements, pitch, site});

  cuda::dropout(
      {d_x.get(), nullptr, d_samples.get(), d_out.get(), rows, lines, elements, pitch, site},
      nullptr);

  expect_near("out", d_out, expected);
}

INSTANTIATE_TEST_SUITE_P(Shapes, DropoutSweep,
                         testing::Values(Lines{70000, 1, 3, 128, 6554},
                                         Lines{1, 5000, 130, 1024, 32768},
                                         Lines{2, 1, 15360, 0, 6554}, Lines{1, 1, 5000000, 0, 1},
                                         Lines{3, 2, 129, 16384, 65535}));

class OptimizerSweep : public GpuTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(OptimizerSweep, AdamwIsTheCpus) {
  const std::size_t count = GetParam();
  const std::vector<float> g = normals(count, 1);
  std::vector<float> w = normals(count, 2);
  std::vector<float> m = normals(count, 3, 0.1F);
  std::vector<float> v(count, 0.04F);
  const OnDevice d_w(w), d_g(g), d_m(m), d_v(v);
  AdamwArgs args{w.data(), g.data(), m.data(), v.data(), count, 1e-2F,  0.9F,
                 0.99F,    1e-8F,    0.1F,     0.7F,     0.19F, 0.0199F};
  const AdamwRuns runs = reference::runs_of(count);
  std::size_t begin = 0;
  for (std::size_t r = 0; r < runs.count; begin = runs.ends[r++])
    cpu::adamw_step(reference::run_of(args, runs, r, begin));

  args.weights = d_w.get();
  args.grads = d_g.get();
  args.m = d_m.get();
  args.v = d_v.get();
  cuda::adamw_step(args, runs, nullptr);

  expect_near("weights", d_w, w, {1e-6, 1e-7});
  expect_near("m", d_m, m, {1e-6, 1e-7});
  expect_near("v", d_v, v, {1e-6, 1e-7});
}

TEST_P(OptimizerSweep, SquaredNormIsTheCpus) {
  const std::size_t count = GetParam();
  const std::vector<float> x = normals(count, 1);
  std::vector<double> blocks(count / kNormBlock + 1);
  std::vector<double> out{-1.0};
  const OnDevice d_x(x);
  const OnDevice d_blocks(blocks), d_out(out);
  cpu::squared_norm({x.data(), count, blocks.data(), out.data()});

  cuda::squared_norm({d_x.get(), count, d_blocks.get(), d_out.get()}, nullptr);

  expect_near("norm", d_out, out, {1e-12, 0.0});
}

TEST_P(OptimizerSweep, AccumulateIsTheCpus) {
  const std::size_t count = GetParam();
  std::vector<float> sum = normals(count, 1);
  const std::vector<float> x = normals(count, 2);
  const OnDevice d_sum(sum), d_x(x);
  cpu::accumulate({sum.data(), x.data(), count});

  cuda::accumulate({d_sum.get(), d_x.get(), count}, nullptr);

  expect_near("sum", d_sum, sum);
}

INSTANTIATE_TEST_SUITE_P(Sizes, OptimizerSweep, testing::Values(0, 1, 255, 4096, 4097, 1100000));

}  // namespace
}  // namespace mgpu::kernels
