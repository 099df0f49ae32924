#include <ostream>
#include <random>

#include <mgpu/kernels/online_draw.hpp>

#include "sweep.hpp"

namespace mgpu::kernels {
namespace {

constexpr double kRandom = -1.0;

struct Shape {
  std::size_t rows;
  std::size_t block;
  std::size_t blocks;
  Kind kind;
  double uniform = kRandom;  // of all draws
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.rows << " rows, " << shape.blocks << " blocks of " << shape.block << ", kind "
             << static_cast<int>(shape.kind) << ", uniform " << shape.uniform;
}

/// The state before the first block.
struct State {
  explicit State(std::size_t rows)
      : tops(rows, -std::numeric_limits<double>::infinity()),
        sums(rows, 0.0),
        ids(rows, -1),
        picked(rows, -1.0F) {}

  std::vector<double> tops;
  std::vector<double> sums;
  std::vector<std::int64_t> ids;
  std::vector<float> picked;
};

class OnlineDrawSweep : public GpuTest, public testing::WithParamInterface<Shape> {};

TEST_P(OnlineDrawSweep, DrawsWhatTheCpuDraws) {
  const auto [rows, block, blocks, kind, uniform] = GetParam();
  State state(rows);
  const OnDevice d_tops(state.tops), d_sums(state.sums);
  const OnDevice d_ids(state.ids);
  const OnDevice d_picked(state.picked);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(0.0, 1.0);
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::vector<float> scores = logits_of(rows, block, kind, static_cast<unsigned>(b + 1));
    std::vector<double> uniforms(2 * rows);
    for (double& u : uniforms)
      u = uniform == kRandom ? any(random) : uniform;
    const OnDevice d_scores(scores);
    const OnDevice d_uniforms(uniforms);
    const auto first = static_cast<std::int64_t>(b * block);
    cpu::online_draw({scores.data(), scores.data(), uniforms.data(), state.tops.data(),
                      state.sums.data(), state.ids.data(), state.picked.data(), rows, block,
                      first});
    cuda::online_draw({d_scores.get(), d_scores.get(), d_uniforms.get(), d_tops.get(), d_sums.get(),
                       d_ids.get(), d_picked.get(), rows, block, first},
                      nullptr);
    cuda_check(cudaDeviceSynchronize());  // before the scores are freed
  }

  if (!is_meaningful(kind)) return;  // the kernel only has to finish
  expect_near("tops", d_tops, state.tops);
  expect_near("sums", d_sums, state.sums, {1e-12, 0.0});
  expect_near("ids", d_ids, state.ids);
  expect_near("picked", d_picked, state.picked);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const Kind kind : kKinds)
    for (const std::size_t block : {1U, 31U, 256U, 257U, 4032U})
      all.push_back({5, block, 3, kind});
  constexpr double kLargest = 1.0 - 0x1.0p-53;  // below 1
  for (const double uniform : {0.0, 0.5, kLargest}) {
    all.push_back({4, 1000, 4, Kind::ties, uniform});
    all.push_back({2, 151936, 1, Kind::normal, uniform});
    all.push_back({4, 300, 3, Kind::few_finite, uniform});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnlineDrawSweep, testing::ValuesIn(shapes()));

}  // namespace
}  // namespace mgpu::kernels
