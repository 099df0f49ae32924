#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/repetition_penalty.hpp>

#include "token_cases.hpp"

namespace mgpu::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A quarter turn. Columns 0 and 2 hold (1, 3), which becomes (-3, 1). Columns 1 and 3 hold (2, 4),
// which becomes (-4, 2).
TEST(RotateHeadsTest, ByHand) {
  const std::vector<float> x{1.0F, 2.0F, 3.0F, 4.0F};
  const std::vector<float> cosine{0.0F, 0.0F};
  const std::vector<float> sine{1.0F, 1.0F};
  std::vector<float> out(4);
  cpu::rotate_heads({x.data(), nullptr, cosine.data(), sine.data(), out.data(), 1, 1, 4, 0.0F});

  EXPECT_EQ(out, (std::vector<float>{-3.0F, -4.0F, 1.0F, 2.0F}));
}

TEST(RotateHeadsTest, IsTheReferenceAlsoInPlace) {
  for (const std::size_t columns : {2U, 6U, 32U, 62U, 64U, 128U, 254U}) {
    for (const bool is_normed : {false, true}) {
      HeadsCase input(columns);
      const std::vector<double> expected = reference::rotate_heads(input, is_normed);
      std::vector<float> out(input.x.size());
      RotateHeadsArgs args{input.x.data(),      is_normed ? input.weight.data() : nullptr,
                           input.cosine.data(), input.sine.data(),
                           out.data(),          HeadsCase::kTokens,
                           HeadsCase::kHeads,   columns,
                           HeadsCase::kEpsilon};
      cpu::rotate_heads(args);
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_NEAR(out[i], expected[i], 3e-6) << columns << " " << is_normed;
      args.out = input.x.data();
      cpu::rotate_heads(args);
      EXPECT_EQ(input.x, out);
    }
  }
}

TEST(RotateHeadsTest, HeadsNeedPairs) {
  EXPECT_THROW(cpu::rotate_heads({nullptr, nullptr, nullptr, nullptr, nullptr, 1, 1, 3, 0.0F}),
               ShapeError);
}

// The weights are 1 and 3 in the first block, and 4 in the second. So the second block replaces the
// sample if its first uniform is below 1/2.
TEST(OnlineDrawTest, ByHand) {
  const std::vector<float> first{0.0F, std::log(3.0F)};
  const std::vector<float> second{std::log(4.0F)};
  const auto drawn = [&](double place, double takes_over) {
    double top = -kInfinity;
    double sum = 0.0;
    std::int64_t id = -1;
    float picked = 0.0F;
    const std::vector<double> one{0.999, place};
    const std::vector<double> two{takes_over, 0.5};
    cpu::online_draw({first.data(), first.data(), one.data(), &top, &sum, &id, &picked, 1, 2, 10});
    cpu::online_draw(
        {second.data(), second.data(), two.data(), &top, &sum, &id, &picked, 1, 1, 12});
    EXPECT_FLOAT_EQ(picked, id == 12 ? second[0] : first[static_cast<std::size_t>(id - 10)]);
    EXPECT_NEAR(sum * std::exp(top), 8.0, 1e-6);
    return id;
  };
  EXPECT_EQ(drawn(0.24, 0.51), 10);
  EXPECT_EQ(drawn(0.26, 0.51), 11);
  EXPECT_EQ(drawn(0.26, 0.49), 12);
}

TEST(OnlineDrawTest, FrequenciesAreTheProbabilities) {
  const DrawCase input(11);
  const DrawState state = draw_on_cpu(input);
  const std::vector<double> expected = input.probabilities();
  std::vector<double> counts(expected.size());
  for (std::size_t n = 0; n < DrawCase::kRows; ++n) {
    ASSERT_FLOAT_EQ(state.picked[n], static_cast<float>(state.ids[n]));
    counts.at(static_cast<std::size_t>(state.ids[n])) += 1.0;
  }

  for (std::size_t id = 0; id < counts.size(); ++id) {
    const double deviation = std::sqrt(expected[id] * (1.0 - expected[id]) / DrawCase::kRows);
    EXPECT_NEAR(counts[id] / DrawCase::kRows, expected[id], 4.5 * deviation) << id;
  }
}

TEST(OnlineDrawTest, ABlockWithoutTokensLeavesTheDraw) {
  const std::vector<float> none(3, -std::numeric_limits<float>::infinity());
  const std::vector<double> uniforms{0.0, 0.0};
  double top = 1.0;
  double sum = 2.0;
  std::int64_t id = 5;
  float picked = 6.0F;
  cpu::online_draw({none.data(), none.data(), uniforms.data(), &top, &sum, &id, &picked, 1, 3, 7});

  EXPECT_EQ(id, 5);
  EXPECT_EQ(top, 1.0);
  EXPECT_EQ(sum, 2.0);
  EXPECT_EQ(picked, 6.0F);
}

// The probabilities are 1/8 and 3/8 in the first block, and 1/2 in the second.
TEST(DrawWithReplacementTest, ByHand) {
  const std::vector<float> first{0.0F, std::log(3.0F)};
  const std::vector<float> second{std::log(4.0F)};
  const float log_sum = std::log(8.0F);
  const std::vector<double> uniforms{0.0, 0.124, 0.126, 0.499, 0.501, 0.999};
  double reached = 0.0;
  std::vector<std::int64_t> ids(6, -1);
  cpu::draw_with_replacement(
      {first.data(), &log_sum, uniforms.data(), &reached, ids.data(), 1, 2, 6, 10});
  EXPECT_EQ(ids, (std::vector<std::int64_t>{10, 10, 11, 11, -1, -1}));
  EXPECT_NEAR(reached, 0.5, 1e-7);
  cpu::draw_with_replacement(
      {second.data(), &log_sum, uniforms.data(), &reached, ids.data(), 1, 1, 6, 12});
  EXPECT_EQ(ids, (std::vector<std::int64_t>{10, 10, 11, 11, 12, 12}));
}

TEST(DrawWithReplacementTest, BlocksOfAnySizeDrawTheSame) {
  for (const std::size_t block : {1U, 15U, 64U, 65U, 300U}) {
    const ManyDrawsCase input(3, block);
    std::vector<double> reached(ManyDrawsCase::kRows, 0.0);
    std::vector<std::int64_t> ids(input.uniforms.size(), -1);
    for (std::size_t b = 0; b < input.blocks; ++b)
      cpu::draw_with_replacement({input.logits[b].data(), input.log_sums.data(),
                                  input.uniforms.data(), reached.data(), ids.data(),
                                  ManyDrawsCase::kRows, block, ManyDrawsCase::kDraws,
                                  static_cast<std::int64_t>(b * block)});
    EXPECT_EQ(ids, input.expected) << block;
  }
}

TEST(DrawWithReplacementTest, NothingIsDrawnFromNaN) {
  const std::vector<float> logits{0.0F, std::numeric_limits<float>::quiet_NaN()};
  const float log_sum = std::numeric_limits<float>::quiet_NaN();
  const double uniform = 0.5;
  double reached = 0.0;
  std::int64_t id = -1;
  cpu::draw_with_replacement({logits.data(), &log_sum, &uniform, &reached, &id, 1, 2, 1, 0});
  EXPECT_EQ(id, -1);
}

TEST(RepetitionPenaltyTest, ByHand) {
  std::vector<float> logits{1.0F,  -1.0F, 3.0F, 0.0F,    // tokens 10 to 13
                            -4.0F, 5.0F,  6.0F, -7.0F};  // the same tokens in the second row
  const std::vector<std::int64_t> ids{3, 10, 11, 14, 13, 90};
  const std::vector<std::int64_t> spans{0, 4, 4, 6};

  cpu::repetition_penalty({logits.data(), ids.data(), spans.data(), 2, 4, 10, 2.0F});

  EXPECT_EQ(logits, (std::vector<float>{0.5F, -2.0F, 3.0F, 0.0F, -4.0F, 5.0F, 6.0F, -14.0F}));
}

}  // namespace
}  // namespace mgpu::kernels
