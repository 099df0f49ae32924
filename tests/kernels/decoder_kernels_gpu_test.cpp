#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/kernels/decoder_grads.hpp>

#include "decoder_cases.hpp"
#include "decoder_reference.hpp"
#include "on_device.hpp"
#include "random_values.hpp"

namespace mgpu::kernels {
namespace {

class DecoderGpuTest : public GpuTest {};

TEST_F(DecoderGpuTest, RmsNormIsTheReference) {
  for (const std::size_t width : {1U, 31U, 255U, 257U, 2048U}) {
    constexpr std::size_t kRows = 9;
    const std::vector<float> x = normals(kRows * width, 1, 3.0F);
    const std::vector<float> weight = normals(width, 2);
    std::vector<float> expected(x.size());
    const OnDevice d_x(x);
    const OnDevice d_weight(weight);
    const OnDevice d_out(expected);
    cuda::rms_norm({d_x.get(), d_weight.get(), d_out.get(), kRows, width, 1e-5F}, nullptr);
    reference::rms_norm({x.data(), weight.data(), expected.data(), kRows, width, 1e-5F});

    const std::vector<float> out = d_out.host();
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_NEAR(out[i], expected[i], 1e-6F * std::abs(expected[i]) + 1e-12F) << width;
  }
}

TEST_F(DecoderGpuTest, GatedActivationIsTheReference) {
  const std::vector<float> gate = normals(1000, 1, 3.0F);
  const std::vector<float> up = normals(1000, 2);
  const OnDevice d_gate(gate);
  const OnDevice d_up(up);
  for (const auto kind : {ActivationKind::silu, ActivationKind::gelu, ActivationKind::gelu_tanh,
                          ActivationKind::clamped}) {
    std::vector<float> expected(gate.size());
    const OnDevice d_out(expected);
    cuda::gated_activation({d_gate.get(), d_up.get(), d_out.get(), gate.size(), kind, 1.7F, 2.0F},
                           nullptr);
    reference::gated_activation(
        {gate.data(), up.data(), expected.data(), gate.size(), kind, 1.7F, 2.0F});

    const std::vector<float> out = d_out.host();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float factor = std::abs(up[i]) + (kind == ActivationKind::clamped ? 1.0F : 0.0F);
      ASSERT_NEAR(out[i], expected[i], 2e-6F * std::abs(gate[i]) * factor + 1e-30F) << gate[i];
    }
  }
}

TEST_F(DecoderGpuTest, PagedAttentionIsTheReference) {
  for (const AttentionSizes& sizes : attention_sizes()) {
    AttentionCase input(sizes);
    std::vector<float> expected(input.queries.size());
    const OnDevice queries(input.queries);
    const OnDevice keys(input.keys);
    const OnDevice values(input.values);
    const OnDevice sinks(input.sinks);
    const OnDevice page_slots(input.page_slots);
    const OnDevice sequences(input.sequences);
    const OnDevice positions(input.positions);
    const OnDevice out(expected);
    PagedAttentionArgs args = input.args;
    args.queries = queries.get();
    args.keys = keys.get();
    args.values = values.get();
    args.page_slots = page_slots.get();
    args.sequences = sequences.get();
    args.positions = positions.get();
    args.out = out.get();
    PagedAttentionArgs on_host = input.args;
    on_host.queries = input.queries.data();
    on_host.keys = input.keys.data();
    on_host.values = input.values.data();
    on_host.page_slots = input.page_slots.data();
    on_host.sequences = input.sequences.data();
    on_host.positions = input.positions.data();
    on_host.out = expected.data();
    for (const bool has_sinks : {false, true}) {
      args.sinks = has_sinks ? sinks.get() : nullptr;
      on_host.sinks = has_sinks ? input.sinks.data() : nullptr;
      cuda::paged_attention(args, nullptr);
      reference::paged_attention(on_host);

      const std::vector<float> actual = out.host();
      for (std::size_t i = 0; i < actual.size(); ++i)
        ASSERT_NEAR(actual[i], expected[i], 5e-6F) << sizes.head_dim << " " << i;
    }
  }
}

TEST_F(DecoderGpuTest, PagedAttentionReadsHalves) {
  for (const AttentionSizes& sizes : attention_sizes()) {
    AttentionCase input(sizes);
    const OnDevice half_keys(halves_of(input.keys));
    const OnDevice half_values(halves_of(input.values));
    const OnDevice keys(input.keys);
    const OnDevice values(input.values);
    const OnDevice queries(input.queries);
    const OnDevice page_slots(input.page_slots);
    const OnDevice sequences(input.sequences);
    const OnDevice positions(input.positions);
    const OnDevice out(std::vector<float>(input.queries.size()));
    const OnDevice whole_out(std::vector<float>(input.queries.size()));
    PagedAttentionArgs args = input.args;
    args.queries = queries.get();
    args.keys = keys.get();
    args.values = values.get();
    args.page_slots = page_slots.get();
    args.sequences = sequences.get();
    args.positions = positions.get();
    args.out = whole_out.get();
    cuda::paged_attention(args, nullptr);
    args.out = out.get();
    args.keys = args.values = nullptr;
    args.half_keys = half_keys.get();
    args.half_values = half_values.get();

    cuda::paged_attention(args, nullptr);

    EXPECT_EQ(out.host(), whole_out.host()) << sizes.head_dim;
  }
}

TEST_F(DecoderGpuTest, OnlineLogsumexpIsTheReferenceOverBlocks) {
  for (const std::size_t block : {1U, 31U, 257U, 1000U}) {
    constexpr std::size_t kRows = 3;
    constexpr std::size_t kBest = 5;
    FoldState expected(kRows, kBest);
    const OnDevice tops(expected.tops);
    const OnDevice sums(expected.sums);
    const OnDevice picked(expected.picked);
    const OnDevice best_logits(expected.best_logits);
    const OnDevice best_ids(expected.best_ids);
    const std::vector<std::int64_t> aims{0, static_cast<std::int64_t>(block), -1};
    const OnDevice d_aims(aims);
    for (unsigned b = 0; b < 4; ++b) {
      std::vector<float> logits = normals(kRows * block, b, 4.0F);
      for (float& logit : logits)
        logit = std::round(logit);  // gives many ties
      const OnDevice d_logits(logits);
      const auto first = static_cast<std::int64_t>(b * block);
      cuda::online_logsumexp({d_logits.get(), d_aims.get(), tops.get(), sums.get(), picked.get(),
                              best_logits.get(), best_ids.get(), kRows, block, kBest, first},
                             nullptr);
      cuda_check(cudaDeviceSynchronize());  // before d_logits is freed
      reference::online_logsumexp({logits.data(), aims.data(), expected.tops.data(),
                                   expected.sums.data(), expected.picked.data(),
                                   expected.best_logits.data(), expected.best_ids.data(), kRows,
                                   block, kBest, first});
    }

    EXPECT_EQ(tops.host(), expected.tops) << block;
    EXPECT_EQ(best_ids.host(), expected.best_ids) << block;
    EXPECT_EQ(best_logits.host(), expected.best_logits) << block;
    const std::vector<float> actual = sums.host();
    for (std::size_t n = 0; n < kRows; ++n)
      EXPECT_NEAR(actual[n], expected.sums[n], 1e-5F * expected.sums[n]) << block;
    EXPECT_EQ(picked.host()[1], expected.picked[1]) << block;
  }
}

TEST_F(DecoderGpuTest, LogitsGradByHand) {
  const OnDevice logits(std::vector<float>{std::log(2.0F), 0.0F, 1.0F, std::log(4.0F)});
  const OnDevice log_sums(std::vector<float>{0.0F, 1.0F});
  const OnDevice targets(std::vector<std::int64_t>{6, 9});  // of tokens 5 and 6

  cuda::logits_grad({logits.get(), log_sums.get(), targets.get(), 5, 2, 2, 0.5F}, nullptr);

  const std::vector<float> grads = logits.host();
  const std::vector<float> expected{1.0F, 0.0F, 0.5F, 2.0F * std::exp(-1.0F)};
  for (std::size_t i = 0; i < grads.size(); ++i)
    EXPECT_NEAR(grads[i], expected[i], 1e-6F) << i;
}

}  // namespace
}  // namespace mgpu::kernels
