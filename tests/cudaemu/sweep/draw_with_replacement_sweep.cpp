#include <algorithm>
#include <ostream>
#include <random>

#include <mgpu/kernels/draw_with_replacement.hpp>

#include "sweep.hpp"

namespace mgpu::kernels {
namespace {

struct Shape {
  std::size_t rows;
  std::size_t block;
  std::size_t blocks;
  std::size_t draws;
  Kind kind;
  float spread = 1.0F;  // factor of the logits
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.rows << " rows, " << shape.blocks << " blocks of " << shape.block << ", "
             << shape.draws << " draws, kind " << static_cast<int>(shape.kind) << ", spread "
             << shape.spread;
}

/// Returns the logits by block: [rows, block].
std::vector<std::vector<float>> all_logits(const Shape& shape) {
  std::vector<std::vector<float>> blocks;
  for (std::size_t b = 0; b < shape.blocks; ++b) {
    const auto seed = static_cast<unsigned>(b + 11);
    blocks.push_back(logits_of(shape.rows, shape.block, shape.kind, seed));
    for (float& logit : blocks.back())
      logit *= shape.spread;
  }
  return blocks;
}

std::vector<float> log_sums(const Shape& shape, const std::vector<std::vector<float>>& blocks) {
  std::vector<double> sums(shape.rows, 0.0);
  for (const std::vector<float>& logits : blocks)
    for (std::size_t i = 0; i < logits.size(); ++i)
      sums[i / shape.block] += std::exp(static_cast<double>(logits[i]));
  std::vector<float> logs;
  for (const double sum : sums)
    logs.push_back(static_cast<float>(std::log(sum)));
  return logs;
}

/// Returns uniform random numbers [rows, draws]. Each row ascends.
std::vector<double> ascending_uniforms(const Shape& shape) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<double> uniforms(shape.rows * shape.draws);
  for (double& u : uniforms)
    u = uniform(random);
  const auto draws = static_cast<std::ptrdiff_t>(shape.draws);
  for (auto row = uniforms.begin(); row != uniforms.end(); row += draws)
    std::sort(row, row + draws);
  return uniforms;
}

/// Expects ascending ids in each row, and at most one other draw in a thousand, plus one. The CPU
/// and the GPU round expf differently, so a uniform near a border may fall on either side.
void expect_same_draws(const Shape& shape, const std::vector<std::int64_t>& actual,
                       const std::vector<std::int64_t>& expected) {
  std::size_t others = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (actual[i] != expected[i]) ++others;
    if (i % shape.draws == 0 || actual[i] < 0) continue;
    ASSERT_GE(actual[i], actual[i - 1]) << "ids do not ascend at " << i;
  }
  EXPECT_LE(others, expected.size() / 1000 + 1);
}

class DrawWithReplacementSweep : public GpuTest, public testing::WithParamInterface<Shape> {};

TEST_P(DrawWithReplacementSweep, DrawsWhatTheCpuDraws) {
  const Shape& shape = GetParam();
  const auto blocks = all_logits(shape);
  const std::vector<float> sums = log_sums(shape, blocks);
  const std::vector<double> uniforms = ascending_uniforms(shape);
  std::vector<double> reached(shape.rows, 0.0);
  std::vector<std::int64_t> ids(uniforms.size(), -1);
  const OnDevice d_sums(sums);
  const OnDevice d_uniforms(uniforms), d_reached(reached);
  const OnDevice d_ids(ids);
  for (std::size_t b = 0; b < shape.blocks; ++b) {
    const OnDevice d_logits(blocks[b]);
    const auto first = static_cast<std::int64_t>(b * shape.block);
    cpu::draw_with_replacement({blocks[b].data(), sums.data(), uniforms.data(), reached.data(),
                                ids.data(), shape.rows, shape.block, shape.draws, first});
    cuda::draw_with_replacement({d_logits.get(), d_sums.get(), d_uniforms.get(), d_reached.get(),
                                 d_ids.get(), shape.rows, shape.block, shape.draws, first},
                                nullptr);
    cuda_check(cudaDeviceSynchronize());  // before the logits are freed
  }

  if (is_meaningful(shape.kind)) expect_near("reached", d_reached, reached, {1e-6, 0.0});
  expect_same_draws(shape, d_ids.host(), ids);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const Kind kind : kKinds)
    for (const std::size_t block : {1U, 31U, 256U, 257U, 4032U})
      all.push_back({3, block, 3, 50, kind});
  all.push_back({2, 151936, 1, 1000, Kind::normal});
  all.push_back({2, 4032, 4, 2000, Kind::normal, 0.001F});
  all.push_back({2, 4032, 4, 2000, Kind::normal, 10.0F});
  all.push_back({2, 255, 4, 1, Kind::ties});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, DrawWithReplacementSweep, testing::ValuesIn(shapes()));

}  // namespace
}  // namespace mgpu::kernels
