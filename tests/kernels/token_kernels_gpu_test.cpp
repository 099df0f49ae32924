#include <vector>

#include <gtest/gtest.h>

#include <mgpu/kernels/repetition_penalty.hpp>

#include "on_device.hpp"
#include "token_cases.hpp"

namespace mgpu::kernels {
namespace {

class TokenGpuTest : public GpuTest {};

TEST_F(TokenGpuTest, RotateHeadsIsTheReference) {
  for (const std::size_t columns : {2U, 6U, 64U, 128U, 254U, 1024U}) {
    for (const bool is_normed : {false, true}) {
      const HeadsCase input(columns);
      const OnDevice x(input.x);
      const OnDevice weight(input.weight);
      const OnDevice cosine(input.cosine);
      const OnDevice sine(input.sine);
      cuda::rotate_heads(
          {x.get(), is_normed ? weight.get() : nullptr, cosine.get(), sine.get(), x.get(),
           HeadsCase::kTokens, HeadsCase::kHeads, columns, HeadsCase::kEpsilon},
          nullptr);
      const std::vector<double> expected = reference::rotate_heads(input, is_normed);
      const std::vector<float> out = x.host();
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_NEAR(out[i], expected[i], 3e-6) << columns << " " << is_normed;
    }
  }
}

TEST_F(TokenGpuTest, DrawWithReplacementDrawsWhatTheUniformsSay) {
  for (const std::size_t block : {1U, 15U, 256U, 700U}) {
    const ManyDrawsCase input(3, block);
    const OnDevice log_sums(input.log_sums);
    const OnDevice uniforms(input.uniforms);
    const OnDevice reached(std::vector<double>(ManyDrawsCase::kRows, 0.0));
    const OnDevice ids(std::vector<std::int64_t>(input.uniforms.size(), -1));
    for (std::size_t b = 0; b < input.blocks; ++b) {
      const OnDevice logits(input.logits[b]);
      cuda::draw_with_replacement({logits.get(), log_sums.get(), uniforms.get(), reached.get(),
                                   ids.get(), ManyDrawsCase::kRows, block, ManyDrawsCase::kDraws,
                                   static_cast<std::int64_t>(b * block)},
                                  nullptr);
      cuda_check(cudaDeviceSynchronize());  // before the logits are freed
    }
    EXPECT_EQ(ids.host(), input.expected) << block;
  }
}

TEST_F(TokenGpuTest, OnlineDrawDrawsWhatTheCpuDraws) {
  for (const std::size_t block : {1U, 11U, 300U}) {
    const DrawCase input(block);
    const DrawState start;
    const OnDevice tops(start.tops);
    const OnDevice sums(start.sums);
    const OnDevice ids(start.ids);
    const OnDevice picked(start.picked);
    for (std::size_t b = 0; b < DrawCase::kBlocks; ++b) {
      const OnDevice scores(input.scores[b]);
      const OnDevice logits(input.logits[b]);
      const OnDevice uniforms(input.uniforms[b]);
      cuda::online_draw(
          {scores.get(), logits.get(), uniforms.get(), tops.get(), sums.get(), ids.get(),
           picked.get(), DrawCase::kRows, block, static_cast<std::int64_t>(b * block)},
          nullptr);
      cuda_check(cudaDeviceSynchronize());  // before the inputs are freed
    }
    const DrawState expected = draw_on_cpu(input);

    // No uniform is so near a border between tokens that rounding of double sums matters.
    EXPECT_EQ(ids.host(), expected.ids) << block;
    EXPECT_EQ(picked.host(), expected.picked) << block;
    const std::vector<double> actual = sums.host();
    for (std::size_t n = 0; n < DrawCase::kRows; ++n)
      ASSERT_NEAR(actual[n], expected.sums[n], 1e-12 * expected.sums[n]) << block;
  }
}

TEST_F(TokenGpuTest, RepetitionPenaltyByHand) {
  const OnDevice logits(std::vector<float>{1.0F, -1.0F, 3.0F, 0.0F, -4.0F, 5.0F, 6.0F, -7.0F});
  const OnDevice ids(std::vector<std::int64_t>{3, 10, 11, 14, 13, 90});
  const OnDevice spans(std::vector<std::int64_t>{0, 4, 4, 6});

  cuda::repetition_penalty({logits.get(), ids.get(), spans.get(), 2, 4, 10, 2.0F}, nullptr);

  EXPECT_EQ(logits.host(),
            (std::vector<float>{0.5F, -2.0F, 3.0F, 0.0F, -4.0F, 5.0F, 6.0F, -14.0F}));
}

}  // namespace
}  // namespace mgpu::kernels
