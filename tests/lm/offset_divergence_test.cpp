// Tests the KL divergence between a model with and without offsets, which draws record. Compares it
// with sums over the whole vocabulary in long double, and with a closed form on a toy language.
#include "lm/decode/offset_divergence.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <support/measured.hpp>
#include <support/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/decode/offset_record.hpp>
#include <mgpu/lm/decode/token_divergence.hpp>

#include "golden_folder.hpp"
#include "golden_model.hpp"
#include "known_offsets.hpp"
#include "logits_of.hpp"
#include "made_folder.hpp"
#include "toy_language.hpp"

namespace mgpu::lm {
namespace {

using testing_support::TemporaryFolder;

/// Returns the KL of softmax((logits + offsets) / temperature) from softmax(logits / temperature),
/// by its definition. Shapes: logits [V]; ids and offsets [K]
double exact_divergence(const at::Tensor& logits, const at::Tensor& ids, const at::Tensor& offsets,
                        double temperature) {
  std::vector<long double> before;
  for (std::int64_t i = 0; i < logits.numel(); ++i)
    before.push_back(logits[i].item<float>() / static_cast<long double>(temperature));
  std::vector<long double> after = before;
  for (std::int64_t k = 0; k < ids.numel(); ++k)
    after[static_cast<std::size_t>(ids[k].item<std::int64_t>())] +=
        offsets[k].item<float>() / static_cast<long double>(temperature);
  const auto log_sum = [](const std::vector<long double>& values) {
    const long double most = *std::ranges::max_element(values);
    long double sum = 0.0L;
    for (const long double value : values)
      sum += std::exp(value - most);
    return most + std::log(sum);
  };
  const long double log_sum_before = log_sum(before);
  const long double log_sum_after = log_sum(after);
  long double divergence = 0.0L;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const long double log_p = after[i] - log_sum_after;
    if (std::isinf(log_p)) continue;
    divergence += std::exp(log_p) * (log_p - (before[i] - log_sum_before));
  }
  return static_cast<double>(divergence);
}

/// Returns settings that together use all code paths of a draw. A top k above 1,024 needs whole
/// rows of logits.
std::vector<SamplingConfig> ways_to_draw() {
  std::vector<SamplingConfig> ways;
  for (const double penalty : {1.0, 1.3})
    for (const SamplingConfig& sampling :
         {SamplingConfig{}, SamplingConfig{.is_greedy = false, .temperature = 0.7},
          SamplingConfig{.is_greedy = false, .temperature = 1.4, .top_k = 5},
          SamplingConfig{.is_greedy = false, .temperature = 0.8, .top_p = 0.9},
          SamplingConfig{.is_greedy = false, .temperature = 1.2, .top_k = 2000}}) {
      ways.push_back(sampling);
      ways.back().repetition_penalty = penalty;
    }
  return ways;
}

class LargeVocabularyTest : public testing::Test {
protected:
  static constexpr std::int64_t kVocab = 9001;  // three blocks of a CPU

  LargeVocabularyTest() {
    make_folder(folder_.path(), {.layers = 1, .vocab = kVocab, .head_spread = 0.4});
    model_.emplace(LanguageModel::open(folder_.path()));
    hidden_ = hidden_of(*model_, ids_);
    std::vector<at::Tensor> blocks;
    for_each_piece(*model_, hidden_,
                   [&](const LogitsPiece& piece) { blocks.push_back(piece.logits); });
    logits_ = at::cat(blocks, 1);
    for (std::size_t n = 0; n < ids_.size(); ++n)
      sites_.push_back({n, 3, std::span(ids_).first(n + 1)});
  }

  /// Returns the largest error of the draws' divergences, relative to 1 + divergence.
  double error_of(KnownOffsets& offsets, const SamplingConfig& sampling) const {
    const auto drawn = Sampler(sampling).draw(*model_, hidden_, sites_, {{}, &offsets});
    const double temperature = sampling.is_greedy ? 1.0 : sampling.temperature;
    double worst = 0.0;
    for (std::int64_t n = 0; n < hidden_.size(0); ++n) {
      const double exact =
          exact_divergence(logits_[n], offsets.last.ids[n], offsets.last.values[n], temperature);
      const double found = drawn[static_cast<std::size_t>(n)].divergence;
      worst = std::max(worst, std::abs(found - exact) / (1.0 + exact));
      EXPECT_GT(exact, 0.0);
    }
    return worst;
  }

  TemporaryFolder folder_;
  std::optional<LanguageModel> model_;
  const Ids ids_ = {5, 8999, 4031, 4032, 17, 12};
  at::Tensor hidden_;
  at::Tensor logits_;  // [6, V]
  std::vector<DrawSite> sites_;
};

TEST_F(LargeVocabularyTest, AllWaysToDrawGiveTheKlOverTheWholeVocabulary) {
  KnownOffsets offsets(20, wave);
  double worst = 0.0;
  for (const SamplingConfig& sampling : ways_to_draw())
    worst = std::max(worst, error_of(offsets, sampling));
  testing_support::print_measured("KL of draws with offsets", worst, 1e-5);
  EXPECT_LE(worst, 1e-5);
}

// With offsets of -60 the candidates have less probability than the other tokens. Under the model,
// the other tokens have so little probability that 1 - (the candidates' probability) loses all
// digits in float32.
TEST_F(LargeVocabularyTest, LargeOffsetsAndForbiddenCandidatesLoseNoDigits) {
  for (const double temperature : {0.2, 1.0}) {
    const SamplingConfig sampling{.is_greedy = false, .temperature = temperature};
    for (const double shift : {-60.0, 60.0, -5.0}) {
      KnownOffsets offsets(1000, [=](double id) { return shift + std::cos(id); });
      EXPECT_LE(error_of(offsets, sampling), 1e-6) << temperature << " " << shift;
    }
    KnownOffsets forbidden(3, [](double /*id*/) { return -INFINITY; });
    EXPECT_LE(error_of(forbidden, sampling), 1e-6) << temperature;
  }
}

TEST_F(LargeVocabularyTest, ARowHasTheSameBitsAloneAndInStepsAhead) {
  KnownOffsets offsets(20, wave);
  for (const SamplingConfig& sampling : ways_to_draw()) {
    const Sampler sampler(sampling);
    const auto together = sampler.draw(*model_, hidden_, sites_, {{}, &offsets});
    for (std::size_t n = 0; n < together.size(); ++n) {
      const auto row = static_cast<std::int64_t>(n);
      const auto alone = sampler.draw(*model_, hidden_.narrow(0, row, 1),
                                      std::span(sites_).subspan(n, 1), {{}, &offsets});
      EXPECT_EQ(alone[0].divergence, together[n].divergence);
      EXPECT_EQ(alone[0].log_prob, together[n].log_prob);
    }
    if (!sampler.can_draw_rows(*model_)) continue;
    const DrawnRows rows = sampler.draw_rows(*model_, hidden_, sites_, {{}, &offsets},
                                             sampler.uniforms(*model_, sites_, 1, at::kCPU)[0]);
    for (std::size_t n = 0; n < together.size(); ++n)
      EXPECT_EQ(rows.divergences[static_cast<std::int64_t>(n)].item<double>(),
                together[n].divergence);
  }
}

TEST_F(LargeVocabularyTest, OffsetsOfZeroAndNoProcessorDoNotDiverge) {
  KnownOffsets offsets(20, [](double /*id*/) { return 0.0; });
  for (const SamplingConfig& sampling : ways_to_draw()) {
    for (const DrawnToken& token : Sampler(sampling).draw(*model_, hidden_, sites_, {{}, &offsets}))
      EXPECT_EQ(token.divergence, 0.0);
    for (const DrawnToken& token : Sampler(sampling).draw(*model_, hidden_, sites_))
      EXPECT_EQ(token.divergence, 0.0);
  }
}

// The recorded log-probability of a draw is that of the model without offsets, although the draw
// adds offsets to the logits of the best tokens.
TEST_F(LargeVocabularyTest, LogProbabilitiesAreThoseOfTheModel) {
  KnownOffsets offsets(20, wave);
  for (const SamplingConfig& sampling : ways_to_draw()) {
    const auto drawn = Sampler(sampling).draw(*model_, hidden_, sites_, {{}, &offsets});
    Ids ids;
    for (const DrawnToken& token : drawn)
      ids.push_back(token.id);
    const at::Tensor expected = apply_head(*model_, hidden_, at::tensor(ids), 0).log_probs;
    for (std::size_t n = 0; n < drawn.size(); ++n)
      EXPECT_EQ(drawn[n].log_prob, expected[static_cast<std::int64_t>(n)].item<float>());
  }
}

TEST(OffsetSumsTest, TensorsGiveTheDivergenceOfRows) {
  const at::Tensor logits = 4.0 * at::randn({7, 90}, at::make_generator<at::CPUGeneratorImpl>(3));
  const at::Tensor offsets = 9.0 * at::randn({7, 8}, at::make_generator<at::CPUGeneratorImpl>(4));
  offsets[2].fill_(-INFINITY);
  OffsetSums sums(offsets.to(at::kDouble), logits.options());
  sums.candidates = logits.narrow(1, 0, 8).contiguous();
  sums.rest.fold({logits.narrow(1, 8, 82).contiguous(), 0, 0}, {});
  const at::Tensor by_rows = divergence_by_rows(sums);
  const at::Tensor by_tensors = divergence_by_tensors(sums);
  EXPECT_GT(by_rows.min().item<double>(), 0.0);
  EXPECT_LE((by_tensors - by_rows).abs().max().item<double>(), 1e-12);
}

// For the best policy, the sum of the KL of the tokens is E[R] / eta - log E[exp(R / eta)]. The
// first mean is that of the policy, the second that of the reference.
TEST(ToyLanguageTest, TheKlOfItsTokensAddsUpToTheClosedForm) {
  using Prefix = ToyLanguage::Prefix;
  const ToyLanguage language;
  const double p = language.success({});
  for (const double eta : {0.1, 0.5, 1.0, 3.0}) {
    const GuideSettings settings{.kind = GuideKind::qsharp, .eta = eta};
    const auto token_divergence = [&](const Prefix& prefix) {
      OffsetSums sums(at::empty({1, ToyLanguage::kTokens}, at::kDouble), at::kFloat);
      for (std::size_t token = 0; token < ToyLanguage::kTokens; ++token) {
        const auto k = static_cast<std::int64_t>(token);
        sums.candidates[0][k] = std::log(language.reference(prefix)[token]);
        sums.offsets[0][k] = language.offset(prefix, token, settings);
      }
      return divergence_of(sums)[0].item<double>();
    };
    const std::function<double(const Prefix&)> total = [&](const Prefix& prefix) {
      if (prefix.length == ToyLanguage::kLength) return 0.0;
      double all = token_divergence(prefix);
      const ToyLanguage::Policy policy = language.guided(prefix, settings);
      for (std::size_t token = 0; token < ToyLanguage::kTokens; ++token)
        if (policy[token] > 0.0) all += policy[token] * total(ToyLanguage::with(prefix, token));
      return all;
    };
    const double tilted = p * std::exp(1.0 / eta);
    const double reached = tilted / (tilted + 1.0 - p);
    const double expected = reached / eta - std::log(tilted + 1.0 - p);
    EXPECT_NEAR(total({}), expected, 2e-6) << eta;
  }
}

/// Returns the divergences of all completions of some prompts.
std::vector<std::vector<double>> generate(const LanguageModel& model,
                                          const GenerationConfig& config,
                                          std::vector<Completion>* completions = nullptr) {
  const std::vector<Ids> ids = make_prompts(4);
  std::vector<Prompt> prompts;
  for (std::size_t p = 0; p < ids.size(); ++p)
    prompts.push_back({p * 100, ids[p], 2});
  std::vector<std::vector<double>> all;
  for (const PromptResult& result : Generator(model, config).run(prompts))
    for (const Completion& completion : result.completions) {
      all.push_back(completion.divergences);
      EXPECT_EQ(completion.divergences.size(),
                config.processors.is_empty() ? 0 : completion.ids.size());
      if (completions != nullptr) completions->push_back(completion);
    }
  return all;
}

GenerationConfig config_of(const SamplingConfig& sampling, CandidateProcessor* offsets) {
  GenerationConfig config;
  config.sampling = sampling;
  config.max_new_tokens = 8;
  config.stop_ids = {2, 11, 40};
  config.page_tokens = 4;
  config.processors.candidate = offsets;
  return config;
}

TEST(CompletionDivergenceTest, DoesNotDependOnTheBatchOrStepsAhead) {
  LanguageModel model = open_golden("llama");
  const PassSizes cpu = model.sizes();
  KnownOffsets offsets(20, wave);
  for (const SamplingConfig& sampling : ways_to_draw()) {
    GenerationConfig config = config_of(sampling, &offsets);
    config.batch_size = 1;
    model.set_sizes(cpu);
    const auto expected = generate(model, config);
    config.batch_size = 5;
    EXPECT_EQ(generate(model, config), expected);
    PassSizes ahead = cpu;
    ahead.steps_per_read = 8;
    model.set_sizes(ahead);
    config.batch_size = 16;
    EXPECT_EQ(generate(model, config), expected);
    config.processors.candidate = nullptr;
    generate(model, config);
  }
}

// If the reference is a second copy of the model, the divergence from it equals the one that the
// draws record.
TEST(OffsetRecordTest, ADivergenceFromTheModelItselfIsThatOfTheDraws) {
  const LanguageModel model = open_golden("llama");
  const LanguageModel same = open_golden("llama");
  const std::vector<Ids> ids = make_prompts(4);
  double worst = 0.0;
  for (const SamplingConfig& sampling : ways_to_draw()) {
    KnownOffsets offsets(20, wave);
    std::vector<Completion> completions;
    const auto expected = generate(model, config_of(sampling, &offsets), &completions);
    std::vector<SequenceDivergence::Sequence> sequences;
    for (std::size_t i = 0; i < completions.size(); ++i)
      sequences.push_back({ids[i / 2], completions[i].ids, i / 2 * 100 + i % 2});
    SequenceDivergence divergence(model, same, sampling.is_greedy ? 1.0 : sampling.temperature, 3);
    divergence.use_offsets(offsets.record);
    const auto found = divergence.run(sequences);
    for (std::size_t i = 0; i < found.size(); ++i)
      for (std::size_t t = 0; t < found[i].size(); ++t)
        worst = std::max(worst, std::abs(found[i][t] - expected[i][t]));
  }
  testing_support::print_measured("KL of draws and of another reading", worst, 1e-5);
  EXPECT_LE(worst, 1e-5);
}

TEST(OffsetRecordTest, TheDivergenceFromAnotherModelIsThatOfTheWholeVocabulary) {
  const LanguageModel model = open_golden("llama");
  const LanguageModel other = open_golden("qwen2");
  const Ids ids = make_ids(6, 3);
  const at::Tensor p = hidden_of(model, ids);
  const at::Tensor q = hidden_of(other, ids);
  const at::Tensor candidates = apply_head(model, p, {}, 9).best_ids;  // [6, 9]
  const at::Tensor values = (candidates.to(at::kFloat) * 0.7).sin() * 3.0;
  const auto found = token_divergence({model, p}, {other, q}, 0.7, {candidates, values, {}});
  const at::Tensor guided =
      logits_of(model, p).to(at::kDouble).scatter_add(1, candidates, values.to(at::kDouble));
  const at::Tensor log_p = at::log_softmax(guided / 0.7, 1);
  const at::Tensor log_q = at::log_softmax(logits_of(other, q).to(at::kDouble) / 0.7, 1);
  const at::Tensor expected = (log_p.exp() * (log_p - log_q)).sum(1);
  for (std::size_t n = 0; n < found.size(); ++n)
    EXPECT_NEAR(found[n], expected[static_cast<std::int64_t>(n)].item<double>(), 1e-6);
}

TEST(OffsetRecordTest, TokensThatWereNotDrawnHaveNoOffsetsAndUnknownDrawsAreRefused) {
  OffsetRecord record;
  const std::vector<DrawSite> rows = {{7, 0, {}}, {9, 0, {}}};
  record.add(rows, at::tensor({1, 2, 3, 4}, at::kLong).view({2, 2}), at::ones({2, 2}));
  EXPECT_TRUE(record.of(9, 0, 1).ids.equal(at::tensor({3, 4}, at::kLong).view({1, 2})));
  const CandidateOffsets begun = record.of(9, -2, 3);
  EXPECT_TRUE(begun.ids.equal(at::tensor({-1, -1, -1, -1, 3, 4}, at::kLong).view({3, 2})));
  EXPECT_THROW(record.of(9, 0, 2), Error);
  EXPECT_THROW(record.of(8, 0, 1), Error);
  const std::vector<DrawSite> later = {{8, 2, {}}};
  record.add(later, at::tensor({5, 6}, at::kLong).view({1, 2}), at::ones({1, 2}));
  EXPECT_EQ(record.of(8, 2, 1).ids[0][1].item<std::int64_t>(), 6);
  EXPECT_THROW(record.of(8, 1, 2), Error);
  record.clear();
  EXPECT_THROW(record.of(9, 0, 1), Error);
}

}  // namespace
}  // namespace mgpu::lm
