// Compares sampling with the logits processors of transformers (tests/oracle/generation.py), and
// draws with their distribution.
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/sampler.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "golden_folder.hpp"
#include "headed_model.hpp"
#include "lm/decode/truncate_distributions.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

std::vector<DrawSite> sites_of(std::size_t count, std::uint64_t first_sample = 0) {
  std::vector<DrawSite> sites;
  for (std::size_t n = 0; n < count; ++n)
    sites.push_back({first_sample + n, 0, {}});
  return sites;
}

/// Returns the candidates of each row.
std::vector<std::vector<Candidate>> distributions(const SamplingConfig& config,
                                                  const LanguageModel& model,
                                                  const at::Tensor& hidden,
                                                  std::span<const DrawSite> sites) {
  const LogitProcessors none;
  std::vector<std::vector<Candidate>> rows;
  const SampledRows sampled = rows_to_sample(model, hidden, sites, none, config);
  for (TruncatedDistribution& row : truncate_distributions(sampled, config))
    rows.push_back(std::move(row.candidates));
  return rows;
}

TEST(SamplerTest, DistributionsAreThoseOfTransformers) {
  const formats::SafetensorsFile file(testing_support::lm_goldens() / "sampling.safetensors");
  const auto settings = values_of<double>(*file.find("settings"));  // [S, 4]
  const auto logits = values_of<float>(*file.find("logits"));       // [2, V]
  const auto context = values_of<std::int64_t>(*file.find("context"));
  const auto expected = values_of<float>(*file.find("probabilities"));  // [S, 2, V]
  const auto vocab = static_cast<std::int64_t>(logits.size() / 2);
  const LanguageModel model = identity_model(vocab);
  const at::Tensor hidden = at::tensor(logits).view({2, vocab});
  std::vector<DrawSite> sites = sites_of(2);
  for (std::size_t n = 0; n < 2; ++n)
    sites[n].context = std::span(context).subspan(n * context.size() / 2, context.size() / 2);
  ASSERT_GE(settings.size(), 4U);

  for (std::size_t s = 0; s < settings.size() / 4; ++s) {
    SamplingConfig config;
    config.is_greedy = false;
    config.repetition_penalty = settings[4 * s];
    config.temperature = settings[4 * s + 1];
    config.top_k = static_cast<std::int64_t>(settings[4 * s + 2]);
    config.top_p = settings[4 * s + 3];
    const auto rows = distributions(config, model, hidden, sites);
    for (std::size_t n = 0; n < 2; ++n) {
      std::vector<double> ours(static_cast<std::size_t>(vocab), 0.0);
      for (const Candidate& candidate : rows[n])
        ours[static_cast<std::size_t>(candidate.id)] = candidate.probability;
      for (std::size_t v = 0; v < ours.size(); ++v) {
        // transformers computes the softmax in float32, with a few relative roundings of 2^-24.
        const float theirs = expected[(s * 2 + n) * ours.size() + v];
        EXPECT_NEAR(ours[v], theirs, 3e-6 * theirs) << "setting " << s << " row " << n;
      }
    }
  }
}

TEST(SamplerTest, GreedyTakesTheLowestOfEqualIds) {
  const LanguageModel model = identity_model(6);
  const at::Tensor hidden = at::tensor({1.0F, 3.0F, 2.0F, 3.0F, 0.0F, 3.0F}).view({1, 6});

  const DrawnToken token = Sampler({}).draw(model, hidden, sites_of(1)).front();

  EXPECT_EQ(token.id, 1);
  const double sum = 3 * std::exp(3.0) + std::exp(2.0) + std::exp(1.0) + 1.0;
  EXPECT_NEAR(token.log_prob, 3.0 - std::log(sum), 1e-6);
}

TEST(SamplerTest, EqualLogitsAtTheCutLeaveTheLowestIds) {
  const LanguageModel model = identity_model(5);
  SamplingConfig config;
  config.is_greedy = false;
  config.top_k = 2;

  const auto rows = distributions(
      config, model, at::tensor({1.0F, 0.0F, 1.0F, 1.0F, 0.0F}).view({1, 5}), sites_of(1));

  ASSERT_EQ(rows[0].size(), 2U);
  EXPECT_EQ(rows[0][0].id, 0);
  EXPECT_EQ(rows[0][1].id, 2);
}

class DrawTest : public testing::TestWithParam<SamplingConfig> {};

TEST_P(DrawTest, FrequenciesAreTheDistribution) {
  constexpr std::int64_t kVocab = 5000;  // two blocks of the vocabulary
  constexpr std::size_t kDraws = 8000;
  at::Tensor logits = at::full({kVocab, 1}, -12.0F);
  for (const std::int64_t id : {3, 70, 4031, 4032, 4999})
    logits[id] = static_cast<float>(id % 4);
  const LanguageModel model = headed_model(logits);
  const at::Tensor row = at::ones({1, 1});
  const Sampler sampler(GetParam());
  const auto expected = distributions(GetParam(), model, row, sites_of(1)).front();

  std::map<std::int64_t, double> counts;
  for (std::size_t first = 0; first < kDraws; first += 1000)
    for (const DrawnToken& token :
         sampler.draw(model, row.expand({1000, 1}), sites_of(1000, first)))
      counts[token.id] += 1.0;

  for (const Candidate& candidate : expected) {
    if (candidate.probability < 1e-3) continue;
    const double mean = candidate.probability * static_cast<double>(kDraws);
    const double sigma = std::sqrt(mean * (1.0 - candidate.probability));
    EXPECT_NEAR(counts[candidate.id], mean, 4.5 * sigma) << candidate.id;
  }
}

INSTANTIATE_TEST_SUITE_P(Cuts, DrawTest,
                         testing::Values(SamplingConfig{false, 1.0, 0, 1.0, 1.0, 1,
                                                        0},  // no cut: by blocks
                                         SamplingConfig{false, 1.5, 0, 1.0, 1.0, 2, 0},    //
                                         SamplingConfig{false, 1.0, 3, 1.0, 1.0, 3, 0},    // top k
                                         SamplingConfig{false, 1.0, 0, 0.9, 1.0, 4, 0}));  // top p

TEST(SamplerTest, DrawsDependOnSeedRoundSampleAndPositionOnly) {
  const LanguageModel model = identity_model(64);
  const at::Tensor hidden = at::zeros({1, 64});
  const auto ids = [&](std::uint64_t seed, std::uint32_t round, std::uint64_t sample,
                       std::uint32_t position) {
    const DrawSite site{sample, position, {}};
    return Sampler({false, 1.0, 0, 1.0, 1.0, seed, round})
        .draw(model, hidden, {&site, 1})
        .front()
        .id;
  };
  const auto differs = [&](auto draw) {
    int count = 0;
    for (std::uint32_t i = 0; i < 20; ++i)
      count += draw(i) != ids(1, 2, i, 4) ? 1 : 0;
    return count > 10;  // 1 of 64 is the same by chance
  };

  EXPECT_FALSE(differs([&](std::uint32_t i) { return ids(1, 2, i, 4); }));
  EXPECT_TRUE(differs([&](std::uint32_t i) { return ids(9, 2, i, 4); }));
  EXPECT_TRUE(differs([&](std::uint32_t i) { return ids(1, 9, i, 4); }));
  EXPECT_TRUE(differs([&](std::uint32_t i) { return ids(1, 2, i + 99, 4); }));
  EXPECT_TRUE(differs([&](std::uint32_t i) { return ids(1, 2, i, 5); }));
}

TEST(SamplerTest, LogitsThatAreNotFiniteAreRefused) {
  const LanguageModel model = identity_model(4);
  SamplingConfig all;
  all.is_greedy = false;
  SamplingConfig whole = all;
  whole.top_k = 2000;
  const at::Tensor hidden = at::zeros({1, 4});
  hidden[0][2] = std::numeric_limits<float>::quiet_NaN();

  for (const SamplingConfig& config : {SamplingConfig{}, all, whole})
    EXPECT_THROW(Sampler(config).draw(model, hidden, sites_of(1)), Failure);
}

/// Returns the context ids of a row, some of them twice, and one that is unknown.
std::vector<std::int64_t> context_ids(std::int64_t row) {
  std::vector<std::int64_t> ids{-1};
  for (std::int64_t i = 0; i < 1000; ++i)
    ids.push_back((i % 700 * 37 + 11 * row) % 12900);
  return ids;
}

/// Returns `logits` after the penalty, by its definition.
at::Tensor penalized(const at::Tensor& logits, double penalty) {
  const at::Tensor result = logits.clone();
  for (std::int64_t n = 0; n < logits.size(0); ++n) {
    const std::vector<std::int64_t> context = context_ids(n);
    for (const std::int64_t id : std::set(context.begin(), context.end())) {
      if (id < 0) continue;
      const float logit = logits[n][id].item<float>();
      const auto factor = static_cast<float>(penalty);
      result[n][id] = logit < 0.0F ? logit * factor : logit / factor;
    }
  }
  return result;
}

TEST(SamplerTest, APenaltyIsAppliedOncePerTokenWithoutReadingLogits) {
  const std::int64_t vocab = 3 * kVocabularyBlock + 900;
  const at::Tensor hidden = at::tensor({1.0F, -2.0F, 0.5F}).view({3, 1});
  const at::Tensor head = at::sin(at::arange(vocab).to(at::kFloat)).view({vocab, 1});
  const LanguageModel model = headed_model(head.clone());
  std::vector<std::vector<std::int64_t>> contexts;
  for (std::int64_t n = 0; n < 3; ++n)
    contexts.push_back(context_ids(n));
  std::vector<DrawSite> sites = sites_of(3);
  for (std::size_t n = 0; n < 3; ++n)
    sites[n].context = contexts[n];
  const at::Tensor logits = penalized(hidden.mm(head.t()), 1.3);

  const std::int64_t before = tensor::read_backs();
  const auto best = Sampler({.repetition_penalty = 1.3}).draw(model, hidden, sites);
  EXPECT_EQ(tensor::read_backs(), before + 1);  // not one per block of the vocabulary
  const auto rows = distributions({.is_greedy = false, .top_k = 5, .repetition_penalty = 1.3},
                                  model, hidden, sites);
  EXPECT_EQ(tensor::read_backs(), before + 2);

  const auto [top, ids] = logits.topk(5, 1);
  const at::Tensor probabilities = top.to(at::kDouble).softmax(1);
  for (std::size_t n = 0; n < 3; ++n) {
    const auto row = static_cast<std::int64_t>(n);
    EXPECT_EQ(best[n].id, ids[row][0].item<std::int64_t>()) << n;
    ASSERT_EQ(rows[n].size(), 5U);
    for (std::int64_t k = 0; k < 5; ++k)
      EXPECT_NEAR(rows[n][static_cast<std::size_t>(k)].probability,
                  probabilities[row][k].item<double>(), 1e-6);
  }
}

/// Returns rows of logits for 1 to 3,000 tokens: a single token, equal logits, impossible tokens,
/// and logits far apart.
std::vector<at::Tensor> unusual_rows() {
  const at::Tensor forbidden = at::full({3, 9}, -1e30F);
  forbidden.narrow(1, 4, 2).zero_();
  return {at::zeros({2, 1}), at::zeros({40, 10}), forbidden,
          at::sin(at::arange(8.0F * 3000)).view({8, 3000}) * 40.0,
          at::sin(at::arange(64.0F * 30)).view({64, 30})};
}

TEST(SamplerTest, DrawsInTensorsAreThoseOfTheHost) {
  for (const at::Tensor& logits : unusual_rows()) {
    const LanguageModel model = identity_model(logits.size(1));
    const std::vector<DrawSite> sites = sites_of(static_cast<std::size_t>(logits.size(0)), 7);
    for (const std::int64_t top_k : {2, 10, 1024}) {
      for (const double top_p : {1.0, 0.6, 1e-9}) {
        const Sampler sampler(
            {.is_greedy = false, .temperature = 1.3, .top_k = top_k, .top_p = top_p, .seed = 5});
        ASSERT_TRUE(sampler.can_draw_rows(model));
        const auto expected = sampler.draw(model, logits, sites);

        const DrawnRows drawn = sampler.draw_rows(model, logits, sites, {},
                                                  sampler.uniforms(model, sites, 1, at::kCPU)[0]);

        for (std::size_t n = 0; n < expected.size(); ++n) {
          const auto row = static_cast<std::int64_t>(n);
          EXPECT_EQ(drawn.ids[row].item<std::int64_t>(), expected[n].id) << top_k << " " << top_p;
          EXPECT_EQ(drawn.log_probs[row].item<float>(), expected[n].log_prob);
        }
      }
    }
  }
}

TEST(SamplerTest, DrawsInTensorsKeepSumsThatAreNotFinite) {
  const LanguageModel model = identity_model(4);
  const at::Tensor hidden = at::zeros({3, 4});
  hidden[0].fill_(-INFINITY);
  hidden[1][2] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<DrawSite> sites = sites_of(3);
  const Sampler sampler({.is_greedy = false, .top_k = 3, .top_p = 0.5});

  const DrawnRows drawn =
      sampler.draw_rows(model, hidden, sites, {}, sampler.uniforms(model, sites, 1, at::kCPU)[0]);

  EXPECT_FALSE(std::isfinite(drawn.log_sums[0].item<float>()));
  EXPECT_FALSE(std::isfinite(drawn.log_sums[1].item<float>()));
  EXPECT_TRUE(std::isfinite(drawn.log_sums[2].item<float>()));
  EXPECT_GE(drawn.ids.min().item<std::int64_t>(), 0);
}

TEST(SamplerTest, ValuesOutOfRangeAreRefused) {
  EXPECT_THROW(Sampler({false, 0.0}), Error);
  EXPECT_THROW(Sampler({false, 1.0, -1}), Error);
  EXPECT_THROW(Sampler({false, 1.0, 0, 0.0}), Error);
  EXPECT_THROW(Sampler({false, 1.0, 0, 1.1}), Error);
  EXPECT_THROW(Sampler({false, 1.0, 0, 1.0, 0.0}), Error);
  const LanguageModel model = identity_model(4);
  EXPECT_THROW(Sampler({}).draw(model, at::zeros({2, 4}), sites_of(1)), ShapeError);
}

}  // namespace
}  // namespace mgpu::lm
