#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "decoder_cases.hpp"
#include "decoder_reference.hpp"

namespace mgpu::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Computed by hand: mean of squares (9 + 16) / 2 = 12.5; with epsilon 3.5 the root is 4.
TEST(RmsNormReferenceTest, ByHand) {
  const std::vector<float> x{3.0F, -4.0F};
  const std::vector<float> weight{2.0F, 1.0F};
  std::vector<float> out(2);
  reference::rms_norm({x.data(), weight.data(), out.data(), 1, 2, 3.5F});

  EXPECT_FLOAT_EQ(out[0], 1.5F);
  EXPECT_FLOAT_EQ(out[1], -1.0F);
}

TEST(RmsNormCpuTest, IsTheReference) {
  for (const std::size_t width : {1U, 7U, 16U, 31U, 33U, 64U, 100U, 1024U}) {
    const std::vector<float> x = normals(5 * width, 1, 3.0F);
    const std::vector<float> weight = normals(width, 2);
    std::vector<float> out(x.size());
    std::vector<float> expected(x.size());
    RmsNormArgs args{x.data(), weight.data(), out.data(), 5, width, 1e-5F};
    cpu::rms_norm(args);
    args.out = expected.data();
    reference::rms_norm(args);

    // Sums of squares have no cancellation: a few roundings of 2^-24.
    for (std::size_t i = 0; i < out.size(); ++i)
      EXPECT_NEAR(out[i], expected[i], 1e-6F * std::abs(expected[i]) + 1e-12F) << width;
  }
}

// silu(0) = 0, silu(1) = 1 / (1 + 1/e); gelu(1) = Phi(1) = 0.8413447. Clamped at 7: 7 / (1 +
// exp(-1.702 * 7)) = 6.9999532, times 7 + 1 and -7 + 1.
TEST(GatedActivationReferenceTest, ByHand) {
  const auto activation = [](double x, ActivationKind kind) {
    return reference::activation(x, {nullptr, nullptr, nullptr, 0, kind, 1.702F, 7.0F});
  };
  EXPECT_DOUBLE_EQ(activation(0.0, ActivationKind::silu), 0.0);
  EXPECT_NEAR(activation(1.0, ActivationKind::silu), 0.7310586, 1e-7);
  EXPECT_NEAR(activation(1.0, ActivationKind::gelu), 0.8413447, 1e-7);
  EXPECT_NEAR(activation(1.0, ActivationKind::gelu_tanh), 0.8411920, 1e-7);
  EXPECT_NEAR(activation(1.0, ActivationKind::clamped), 0.8457958, 1e-7);
  const std::vector<float> gate{7.0F, 100.0F};
  const std::vector<float> up{9.0F, -9.0F};
  std::vector<float> out(2);
  reference::gated_activation(
      {gate.data(), up.data(), out.data(), 2, ActivationKind::clamped, 1.702F, 7.0F});
  EXPECT_NEAR(out[0], 8.0 * 6.9999532, 1e-5);
  EXPECT_NEAR(out[1], -6.0 * 6.9999532, 1e-5);
}

TEST(GatedActivationCpuTest, IsTheReferenceAtAnyPlace) {
  std::vector<float> gate = normals(133, 1, 3.0F);
  gate.insert(gate.end(), {0.0F, -0.0F, 200.0F, -200.0F, 1e-30F});
  const std::vector<float> up = normals(gate.size(), 2);
  for (const auto kind : {ActivationKind::silu, ActivationKind::gelu, ActivationKind::gelu_tanh,
                          ActivationKind::clamped}) {
    std::vector<float> out(gate.size());
    std::vector<float> expected(gate.size());
    GatedActivationArgs args{gate.data(), up.data(), out.data(), gate.size(), kind, 1.7F, 2.0F};
    cpu::gated_activation(args);
    args.out = expected.data();
    reference::gated_activation(args);

    for (std::size_t i = 0; i < gate.size(); ++i) {
      const float factor = std::abs(up[i]) + (kind == ActivationKind::clamped ? 1.0F : 0.0F);
      EXPECT_NEAR(out[i], expected[i], 2e-6F * std::abs(gate[i]) * factor + 1e-30F) << gate[i];
      float alone = 0.0F;
      cpu::gated_activation({gate.data() + i, up.data() + i, &alone, 1, kind, 1.7F, 2.0F});
      EXPECT_EQ(alone, out[i]) << i;
    }
  }
}

TEST(GatedActivationCpuTest, NoGateMeansOneAndNanStaysNan) {
  const std::vector<float> gate{1.0F, std::nanf("")};
  std::vector<float> out(2);
  cpu::gated_activation({gate.data(), nullptr, out.data(), 2, ActivationKind::silu});

  EXPECT_NEAR(out[0], 0.7310586F, 1e-6F);
  EXPECT_TRUE(std::isnan(out[1]));
  const std::vector<float> up{std::nanf(""), 1.0F};
  cpu::gated_activation({gate.data(), up.data(), out.data(), 2, ActivationKind::clamped});
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
}

// The result follows from the formulas, and PyTorch agrees.
TEST(GatedActivationCpuTest, MinusInfinityGivesNan) {
  const float gate = -std::numeric_limits<float>::infinity();
  for (const auto kind : {ActivationKind::silu, ActivationKind::gelu, ActivationKind::gelu_tanh,
                          ActivationKind::clamped}) {
    float out = 0.0F;
    cpu::gated_activation({&gate, nullptr, &out, 1, kind, 1.7F, 2.0F});
    EXPECT_TRUE(std::isnan(out)) << static_cast<int>(kind);
  }
}

void point_to(const AttentionCase& input, PagedAttentionArgs& args, std::vector<float>& out) {
  args.queries = input.queries.data();
  args.keys = input.keys.data();
  args.values = input.values.data();
  args.page_slots = input.page_slots.data();
  args.sequences = input.sequences.data();
  args.positions = input.positions.data();
  args.out = out.data();
}

// Two keys have the scores 0 and log 3, so their weights are 1/4 and 3/4.
TEST(PagedAttentionReferenceTest, ByHand) {
  const float query = 1.0F;
  const std::vector<float> keys{0.0F, std::log(3.0F)};
  const std::vector<float> values{8.0F, 4.0F};
  const std::int64_t page = 0;
  const std::int64_t sequence = 0;
  const std::int64_t position = 1;
  float out = 0.0F;
  PagedAttentionArgs args{
      &query, keys.data(), values.data(), &out, &page, &sequence, &position, 1, 1, 1, 1, 2,
      1,      0,           1.0F};
  reference::paged_attention(args);
  EXPECT_NEAR(out, 5.0F, 1e-6F);

  args.window = 1;  // the last key only
  reference::paged_attention(args);
  EXPECT_FLOAT_EQ(out, 4.0F);

  const float sink = std::log(3.0F);  // the same weight as the last key
  args.sinks = &sink;
  reference::paged_attention(args);
  EXPECT_NEAR(out, 2.0F, 1e-6F);
}

TEST(PagedAttentionCpuTest, IsTheReference) {
  for (const AttentionSizes& sizes : attention_sizes()) {
    AttentionCase input(sizes);
    std::vector<float> out(input.queries.size());
    std::vector<float> expected(input.queries.size());
    const float* const no_sinks = nullptr;
    const float* const some_sinks = input.sinks.data();
    for (const float* sinks : {no_sinks, some_sinks}) {
      point_to(input, input.args, out);
      input.args.sinks = sinks;
      cpu::paged_attention(input.args);
      input.args.out = expected.data();
      reference::paged_attention(input.args);

      // Values are about 1, scores below 10: at worst some 70 roundings of 2^-24.
      for (std::size_t i = 0; i < out.size(); ++i)
        ASSERT_NEAR(out[i], expected[i], 5e-6F) << sizes.head_dim << " " << i;
    }
  }
}

TEST(PagedAttentionCpuTest, MemoryThatCannotBeAllocatedIsReported) {
  const float one = 1.0F;
  const std::int64_t zero = 0;
  const std::int64_t position = std::int64_t{1} << 62;  // more scores than there are addresses
  float out = 0.0F;
  EXPECT_THROW(cpu::paged_attention(
                   {&one, &one, &one, &out, &zero, &zero, &position, 1, 1, 1, 1, 2, 1, 0, 1.0F}),
               std::bad_alloc);
}

TEST(PagedAttentionCpuTest, HalvesGiveTheBitsOfTheirFloats) {
  for (const AttentionSizes& sizes : attention_sizes()) {
    AttentionCase input(sizes);
    const std::vector<std::uint16_t> keys = halves_of(input.keys);
    const std::vector<std::uint16_t> values = halves_of(input.values);
    std::vector<float> out(input.queries.size());
    std::vector<float> expected(input.queries.size());
    point_to(input, input.args, expected);
    cpu::paged_attention(input.args);
    input.args.keys = input.args.values = nullptr;
    input.args.half_keys = keys.data();
    input.args.half_values = values.data();
    input.args.out = out.data();

    cpu::paged_attention(input.args);

    EXPECT_EQ(out, expected) << sizes.head_dim;
  }
}

/// Sequences with one query each, whose first pages are those of sequence 0. The last sequence has
/// two queries.
struct SharedPages {
  explicit SharedPages(const AttentionSizes& sizes) : input(sizes) {
    const auto tokens = static_cast<std::int64_t>(sizes.page_tokens);
    std::int64_t unused = 0;
    for (std::size_t s = 0; s < kShared.size(); ++s)
      for (std::size_t page = 0; page < kPages; ++page)
        page_slots.push_back(page < kShared[s] ? page_slots[page] : tokens * unused++);
    const auto elements = static_cast<std::size_t>(unused * tokens) * sizes.kv_heads;
    keys = normals(elements * sizes.head_dim, 5);
    values = normals(elements * sizes.head_dim, 6);
    queries = normals((kShared.size() + 1) * sizes.heads * sizes.head_dim, 7);
    for (std::size_t s = 0; s < kShared.size(); ++s) {
      sequences.push_back(static_cast<std::int64_t>(s));
      // The first position lies in the last page, and some of the others at the end of a page.
      positions.push_back(tokens * static_cast<std::int64_t>(kPages - s % 3) - 1);
    }
    sequences.push_back(sequences.back());
    positions.push_back(positions.back() + 1);
  }

  /// Computes the outputs of `count` queries from query `first` on.
  std::vector<float> outputs(std::size_t first, std::size_t count) const {
    PagedAttentionArgs args = input.args;
    const std::size_t width = args.heads * args.head_dim;
    std::vector<float> out(count * width);
    args.queries = queries.data() + first * width;
    args.keys = keys.data();
    args.values = values.data();
    args.out = out.data();
    args.page_slots = page_slots.data();
    args.sequences = sequences.data() + first;
    args.positions = positions.data() + first;
    args.num_queries = count;
    args.page_pitch = kPages;
    cpu::paged_attention(args);
    return out;
  }

  static constexpr std::size_t kPages = 5;
  // How many pages each sequence shares with sequence 0.
  static constexpr std::array<std::size_t, 14> kShared = {0, 3, 4, 3, 3, 3, 2, 5, 3, 2, 0, 1, 1, 2};
  AttentionCase input;
  std::vector<std::int64_t> page_slots;
  std::vector<std::int64_t> sequences;
  std::vector<std::int64_t> positions;
  std::vector<float> keys;
  std::vector<float> values;
  std::vector<float> queries;
};

TEST(PagedAttentionCpuTest, QueriesWithTheSamePromptGetTheBitsThatTheyHaveAlone) {
  for (const AttentionSizes& sizes : attention_sizes()) {
    const SharedPages pages(sizes);
    const std::size_t queries = pages.sequences.size();
    std::vector<float> alone;
    for (std::size_t n = 0; n < queries; ++n) {
      const std::vector<float> one = pages.outputs(n, 1);
      alone.insert(alone.end(), one.begin(), one.end());
    }

    EXPECT_EQ(pages.outputs(0, queries), alone) << sizes.head_dim;
  }
}

TEST(PagedAttentionCpuTest, NanInAKeyReachesTheQueriesThatSeeIt) {
  AttentionCase input({1, 1, 8, 4, 0});
  const auto slot = static_cast<std::size_t>(input.page_slots[0]) + 2;
  input.keys[slot * 8] = std::nanf("");  // token 2 of the long sequence
  std::vector<float> out(input.queries.size());
  point_to(input, input.args, out);
  cpu::paged_attention(input.args);

  EXPECT_FALSE(std::isnan(out[1 * 8]));
  EXPECT_TRUE(std::isnan(out[2 * 8]));
  EXPECT_TRUE(std::isnan(out[69 * 8]));
  EXPECT_FALSE(std::isnan(out[AttentionCase::kLong * 8]));
}

TEST(PagedAttentionCpuTest, SizesThatDoNotFitAreRefused) {
  PagedAttentionArgs args{};
  args.head_dim = 257;
  args.heads = args.kv_heads = 1;
  EXPECT_THROW(cpu::paged_attention(args), ShapeError);
  args.head_dim = 8;
  args.heads = 3;
  args.kv_heads = 2;
  EXPECT_THROW(cpu::paged_attention(args), ShapeError);
}

OnlineLogsumexpArgs fold_args(FoldState& state, std::size_t rows, std::size_t best) {
  OnlineLogsumexpArgs args{};
  args.tops = state.tops.data();
  args.sums = state.sums.data();
  args.picked = state.picked.data();
  args.best_logits = state.best_logits.data();
  args.best_ids = state.best_ids.data();
  args.rows = rows;
  args.best = best;
  return args;
}

// The blocks are [0, log 2] and [log 5, log 2], so the sum of exp is 1 + 2 + 5 + 2 = 10.
TEST(OnlineLogsumexpReferenceTest, ByHand) {
  const std::vector<float> first{0.0F, std::log(2.0F)};
  const std::vector<float> second{std::log(5.0F), std::log(2.0F)};
  const std::int64_t target = 3;
  FoldState state(1, 3);
  OnlineLogsumexpArgs args = fold_args(state, 1, 3);
  args.targets = &target;
  args.block = 2;
  args.logits = first.data();
  reference::online_logsumexp(args);
  args.logits = second.data();
  args.first_id = 2;
  reference::online_logsumexp(args);

  EXPECT_NEAR(state.tops[0] + std::log(state.sums[0]), std::log(10.0F), 1e-6F);
  EXPECT_FLOAT_EQ(state.picked[0], std::log(2.0F));
  EXPECT_EQ(state.best_ids, (std::vector<std::int64_t>{2, 1, 3}));
}

class OnlineLogsumexpBestTest : public testing::TestWithParam<std::size_t> {};

INSTANTIATE_TEST_SUITE_P(Best, OnlineLogsumexpBestTest, testing::Values(0U, 1U, 5U, 64U, 300U));

TEST_P(OnlineLogsumexpBestTest, IsTheReferenceOverBlocks) {
  const std::size_t best = GetParam();
  for (const std::size_t block : {1U, 15U, 16U, 17U, 100U, 260U, 4032U}) {
    constexpr std::size_t kRows = 3;
    FoldState state(kRows, best);
    FoldState expected(kRows, best);
    const std::vector<std::int64_t> aims{0, static_cast<std::int64_t>(block), -1};
    for (unsigned b = 0; b < 4; ++b) {
      std::vector<float> logits = normals(kRows * block, b, 4.0F);
      for (float& logit : logits)
        logit = std::round(logit);  // gives many ties
      for (std::size_t i = 4; i < logits.size(); i += 9)
        logits[i] = -kInfinity;
      for (FoldState* each : {&state, &expected}) {
        OnlineLogsumexpArgs args = fold_args(*each, kRows, best);
        args.logits = logits.data();
        args.targets = aims.data();
        args.block = block;
        args.first_id = static_cast<std::int64_t>(b * block);
        each == &state ? cpu::online_logsumexp(args) : reference::online_logsumexp(args);
      }
    }

    EXPECT_EQ(state.tops, expected.tops) << block;
    EXPECT_EQ(state.best_ids, expected.best_ids) << block;
    EXPECT_EQ(state.best_logits, expected.best_logits) << block;
    for (std::size_t n = 0; n < kRows; ++n)
      EXPECT_NEAR(state.sums[n], expected.sums[n], 1e-5F * expected.sums[n]) << block;
    EXPECT_EQ(state.picked[1], expected.picked[1]) << block;
    EXPECT_TRUE(std::isnan(state.picked[2])) << "no such token";
  }
}

TEST(OnlineLogsumexpCpuTest, NanSpoilsTheSumAndIsNeverBest) {
  const std::vector<float> logits{1.0F, std::nanf(""), -kInfinity};
  FoldState state(1, 3);
  OnlineLogsumexpArgs args = fold_args(state, 1, 3);
  args.logits = logits.data();
  args.block = 3;
  cpu::online_logsumexp(args);

  EXPECT_TRUE(std::isnan(state.sums[0]));
  EXPECT_EQ(state.best_ids, (std::vector<std::int64_t>{0, 2, -1}));
  args.logits += 1;  // NaN and -infinity only
  args.block = 2;
  FoldState fresh(1, 3);
  args.sums = fresh.sums.data();
  args.tops = fresh.tops.data();
  cpu::online_logsumexp(args);
  EXPECT_TRUE(std::isnan(fresh.sums[0]));
}

}  // namespace
}  // namespace mgpu::kernels
