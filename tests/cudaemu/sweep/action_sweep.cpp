// Sweeps the kernel with few classes per prediction: cross_entropy.
#include <algorithm>
#include <ostream>

#include <mgpu/kernels/cross_entropy.hpp>

#include "sweep.hpp"

namespace mgpu::kernels {
namespace {

struct Predictions {
  std::size_t predictions;
  std::size_t classes;
  float smoothing;
  Kind kind = Kind::normal;
  bool wants_grad = true;
};

std::ostream& operator<<(std::ostream& out, const Predictions& shape) {
  return out << shape.predictions << " of " << shape.classes << " classes, smoothing "
             << shape.smoothing << ", kind " << static_cast<int>(shape.kind)
             << (shape.wants_grad ? ", gradient" : "");
}

class CrossEntropySweep : public GpuTest, public testing::WithParamInterface<Predictions> {};

TEST_P(CrossEntropySweep, IsTheCpus) {
  const auto [predictions, classes, smoothing, kind, wants_grad] = GetParam();
  const std::vector<float> logits = logits_of(predictions, classes, kind, 3);
  std::vector<std::int64_t> aims(predictions);
  for (std::size_t n = 0; n < predictions; ++n)
    aims[n] = n % 5 == 3 ? kIgnoreTarget : static_cast<std::int64_t>(n * 31 % classes);
  std::vector<float> grad(logits.size(), kUntouched);
  std::vector<CrossEntropySums> sums(predictions / kCrossEntropyBlock + 2);
  const OnDevice d_logits(logits), d_grad(grad);
  const OnDevice d_aims(aims);
  const OnDevice d_sums(sums);
  cpu::cross_entropy({logits.data(), aims.data(), wants_grad ? grad.data() : nullptr,
                      sums.data() + 1, sums.data(), predictions, classes, smoothing, 0.5F});

  cuda::cross_entropy({d_logits.get(), d_aims.get(), wants_grad ? d_grad.get() : nullptr,
                       d_sums.get() + 1, d_sums.get(), predictions, classes, smoothing, 0.5F},
                      nullptr);

  const CrossEntropySums all = d_sums.host()[0];
  EXPECT_TRUE(is_near(all.loss, sums[0].loss, {1e-6, 1e-9})) << all.loss << " " << sums[0].loss;
  EXPECT_EQ(all.count, sums[0].count);
  EXPECT_EQ(all.correct, sums[0].correct);
  expect_near("grad", d_grad, grad, {1e-5, 1e-6});
}

std::vector<Predictions> predictions() {
  std::vector<Predictions> all;
  for (const Kind kind : {Kind::normal, Kind::ties, Kind::few_finite, Kind::nan, Kind::infinite})
    for (const std::size_t classes : {1U, 5U, 33U, 1000U})
      for (const float smoothing : {0.0F, 0.1F})
        all.push_back({301, classes, smoothing, kind});
  all.push_back({0, 5, 0.0F});
  all.push_back({70000, 5, 0.1F, Kind::normal, false});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, CrossEntropySweep, testing::ValuesIn(predictions()));

}  // namespace
}  // namespace mgpu::kernels
