#include <ostream>

#include <mgpu/kernels/online_logsumexp.hpp>

#include "sweep.hpp"

namespace mgpu::kernels {
namespace {

struct Shape {
  std::size_t rows;
  std::size_t block;
  std::size_t blocks;
  std::size_t best;
  Kind kind;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.rows << " rows, " << shape.blocks << " blocks of " << shape.block << ", best "
             << shape.best << ", kind " << static_cast<int>(shape.kind);
}

/// The state before the first block.
struct State {
  State(std::size_t rows, std::size_t best)
      : tops(rows, -kInfinity),
        sums(rows, 0.0F),
        picked(rows, kNan),
        best_logits(rows * best, -kInfinity),
        best_ids(rows * best, -1) {}

  std::vector<float> tops;
  std::vector<float> sums;
  std::vector<float> picked;
  std::vector<float> best_logits;
  std::vector<std::int64_t> best_ids;
};

class OnlineLogsumexpSweep : public GpuTest, public testing::WithParamInterface<Shape> {};

TEST_P(OnlineLogsumexpSweep, IsTheCpus) {
  const auto [rows, block, blocks, best, kind] = GetParam();
  State state(rows, best);
  std::vector<std::int64_t> aims(rows);
  for (std::size_t n = 0; n < rows; ++n)
    aims[n] = static_cast<std::int64_t>(n * 7919 % (block * blocks));
  const OnDevice d_tops(state.tops), d_sums(state.sums), d_picked(state.picked);
  const OnDevice d_best_logits(state.best_logits);
  const OnDevice d_best_ids(state.best_ids), d_aims(aims);
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::vector<float> logits = logits_of(rows, block, kind, static_cast<unsigned>(b + 1));
    const OnDevice d_logits(logits);
    const auto first = static_cast<std::int64_t>(b * block);
    cpu::online_logsumexp({logits.data(), aims.data(), state.tops.data(), state.sums.data(),
                           state.picked.data(), state.best_logits.data(), state.best_ids.data(),
                           rows, block, best, first});
    cuda::online_logsumexp(
        {d_logits.get(), d_aims.get(), d_tops.get(), d_sums.get(), d_picked.get(),
         d_best_logits.get(), d_best_ids.get(), rows, block, best, first},
        nullptr);
    cuda_check(cudaDeviceSynchronize());  // before the logits are freed
  }

  expect_near("tops", d_tops, state.tops);
  // Up to 151,936 terms are added in another order. With AVX2, which adds eight partial sums, the
  // results differ by 2.4e-5.
  expect_near("sums", d_sums, state.sums, {4e-5, 0.0});
  expect_near("picked", d_picked, state.picked);
  expect_near("best_ids", d_best_ids, state.best_ids);
  expect_near("best_logits", d_best_logits, state.best_logits);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const Kind kind : kKinds)
    for (const std::size_t block : {1U, 31U, 256U, 257U, 4032U})
      all.push_back({3, block, 3, 5, kind});
  all.push_back({2, 151936, 1, 0, Kind::normal});
  all.push_back({1, 151936, 1, 64, Kind::ties});
  all.push_back({1, 1500, 2, 1024, Kind::ties});
  all.push_back({1, 700, 2, 1024, Kind::few_finite});
  all.push_back({0, 10, 1, 2, Kind::normal});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnlineLogsumexpSweep, testing::ValuesIn(shapes()));

}  // namespace
}  // namespace mgpu::kernels
