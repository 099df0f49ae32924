// Compares steps without host reads with single steps, and the pass sizes of a GPU with those of a
// CPU.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <support/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "golden_folder.hpp"
#include "golden_model.hpp"
#include "made_folder.hpp"
#include "support/measured.hpp"
#include "toy_guide.hpp"

namespace mgpu::lm {
namespace {

/// These decode greedily, sample from the whole distribution, or sample among the best tokens.
const SamplingConfig kWays[] = {
    {},
    {.is_greedy = false, .temperature = 0.8, .seed = 4},
    {.is_greedy = false, .temperature = 0.8, .top_k = 20, .seed = 4},
    {.is_greedy = false, .temperature = 1.3, .top_k = 1024, .top_p = 0.7, .seed = 4}};

/// A session with three prompts and one drawn token for each.
struct Begun {
  Begun(const LanguageModel& model, const SamplingConfig& sampling, const Ids& stops = {},
        CandidateProcessor* guide = nullptr)
      : pool(model, {64, 4}),
        session(model, pool, {.sampling = sampling, .stop_ids = stops, .processors = {{}, guide}}) {
    for (std::size_t s = 0; s < 3; ++s) {
      sequences.push_back(session.add(s * 10));
      session.prefill(sequences.back(), make_ids(5 + 4 * s, static_cast<std::int64_t>(s)));
    }
    session.step(sequences);
  }

  /// Returns the tokens of each sequence, drawn one step at a time.
  std::vector<std::vector<DrawnToken>> step_by_step(int count) {
    std::vector<std::vector<DrawnToken>> tokens(3);
    for (int step = 0; step < count; ++step) {
      const std::vector<DrawnToken> drawn = session.step(sequences);
      for (std::size_t s = 0; s < 3; ++s)
        tokens[s].push_back(drawn[s]);
    }
    return tokens;
  }

  DecodePool pool;
  DecodeSession session;
  std::vector<std::int64_t> sequences;
};

void expect_equal(const std::vector<std::vector<DrawnToken>>& ours,
                  const std::vector<std::vector<DrawnToken>>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t s = 0; s < ours.size(); ++s) {
    ASSERT_EQ(ours[s].size(), theirs[s].size()) << s;
    for (std::size_t t = 0; t < ours[s].size(); ++t) {
      EXPECT_EQ(ours[s][t].id, theirs[s][t].id) << s << " " << t;
      EXPECT_EQ(ours[s][t].log_prob, theirs[s][t].log_prob) << s << " " << t;
    }
  }
}

class StepsAheadTest : public testing::TestWithParam<const char*> {};

TEST_P(StepsAheadTest, EightStepsReadNothingAndGiveTheSameBits) {
  const LanguageModel model = open_golden(GetParam());
  const bool has_experts = model.config().experts.count > 0;  // the host assigns their tokens
  for (const SamplingConfig& sampling : kWays) {
    Begun one(model, sampling);
    Begun ahead(model, sampling);
    for (int round = 0; round < 2; ++round) {
      const auto expected = one.step_by_step(8);

      const std::int64_t before = tensor::read_backs();
      const DrawnSteps drawn = ahead.session.steps(ahead.sequences, 8);
      EXPECT_EQ(tensor::read_backs() > before, has_experts);
      const std::int64_t after = tensor::read_backs();
      const auto tokens = DecodeSession::read(drawn);

      EXPECT_EQ(tensor::read_backs(), after + 1);
      expect_equal(tokens, expected);
      expect_equal(ahead.step_by_step(1), one.step_by_step(1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StepsAheadTest,
                         testing::Values("gpt2", "gpt_oss", "llama_dynamic", "llama_llama3",
                                         "mistral", "qwen3_switches"),
                         [](const auto& entry) { return std::string(entry.param); });

TEST(StepsAheadTest, AGuideReadsNothing) {
  const LanguageModel model = open_golden("llama");
  const LanguageModel second = open_golden("qwen2");
  for (const SamplingConfig& sampling : kWays) {
    ToyGuide guide(second, {512, 4}, 6, 1.5);
    ToyGuide other(second, {512, 4}, 6, 1.5);
    Begun one(model, sampling, {}, &guide);
    Begun ahead(model, sampling, {}, &other);
    const auto expected = one.step_by_step(8);

    const std::int64_t before = tensor::read_backs();
    const DrawnSteps drawn = ahead.session.steps(ahead.sequences, 8);

    EXPECT_EQ(tensor::read_backs(), before);
    expect_equal(DecodeSession::read(drawn), expected);
    expect_equal(ahead.step_by_step(2), one.step_by_step(2));
  }
}

TEST(StepsAheadTest, StopFlagsEndWhatIsRead) {
  const LanguageModel model = open_golden("llama");
  auto expected = Begun(model, kWays[1]).step_by_step(8);
  const Ids stops{expected[0][2].id, expected[1][5].id};
  for (auto& tokens : expected)
    for (std::size_t t = 0; t < tokens.size(); ++t)
      if (std::find(stops.begin(), stops.end(), tokens[t].id) != stops.end()) tokens.resize(t + 1);
  ASSERT_LE(expected[0].size(), 3U);
  Begun ahead(model, kWays[1], stops);

  const DrawnSteps drawn = ahead.session.steps(ahead.sequences, 8);

  EXPECT_EQ(drawn.stopped.sizes(), drawn.ids.sizes());
  expect_equal(DecodeSession::read(drawn), expected);
}

TEST(StepsAheadTest, StepsThatCannotBeAreRefused) {
  const LanguageModel model = open_golden("gpt2");  // 48 positions
  Begun plain(model, {});
  EXPECT_THROW(plain.session.steps(std::span(plain.sequences).first(2), 4), Error);
  Begun longer(model, {});
  EXPECT_THROW(longer.session.steps(longer.sequences, 36), ShapeError) << "13 + 36 positions";
  EXPECT_NO_THROW(longer.session.steps(longer.sequences, 4)) << "the tokens still wait";
  Begun penalized(model, {.repetition_penalty = 1.2});
  EXPECT_FALSE(penalized.session.can_step_ahead());
  EXPECT_THROW(penalized.session.steps(penalized.sequences, 4), Error);
  EXPECT_FALSE(Begun(model, {.is_greedy = false, .top_p = 0.9}).session.can_step_ahead());
  Begun prefilling(model, {});
  prefilling.session.prefill(prefilling.session.add(), make_ids(3, 0));
  EXPECT_THROW(prefilling.session.steps(prefilling.sequences, 4), Error);
}

TEST(StepsAheadTest, LogitsThatAreNotFiniteAreFoundWhenTheyAreRead) {
  const LanguageModel model = open_golden("llama");
  at::Tensor norm = model.weights().norm.weight;
  const float before = norm[0].item<float>();
  for (const SamplingConfig& sampling : kWays) {
    Begun begun(model, sampling);
    norm[0] = NAN;
    const DrawnSteps drawn = begun.session.steps(begun.sequences, 3);
    norm[0] = before;

    EXPECT_THROW(DecodeSession::read(drawn), Failure);
  }
}

GenerationConfig config_of(const SamplingConfig& sampling) {
  GenerationConfig config;
  config.sampling = sampling;
  config.max_new_tokens = 21;
  config.batch_size = 3;
  config.page_tokens = 4;
  config.scores_prompts = true;
  return config;
}

std::vector<PromptResult> generate(const LanguageModel& model, const GenerationConfig& config) {
  std::vector<Ids> ids;
  for (std::size_t p = 0; p < 7; ++p)
    ids.push_back(make_ids(1 + p * 5 % 19, static_cast<std::int64_t>(p)));
  std::vector<Prompt> prompts;
  for (std::size_t p = 0; p < ids.size(); ++p)
    prompts.push_back({p * 100, ids[p], static_cast<std::int64_t>(p % 2 + 1)});
  return Generator(model, config).run(prompts);
}

/// Returns the largest difference of log-probabilities. Expects equal tokens and finish reasons.
double difference(const std::vector<PromptResult>& ours, const std::vector<PromptResult>& theirs) {
  double worst = 0.0;
  const auto compare = [&](const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]));
  };
  for (std::size_t p = 0; p < theirs.size(); ++p) {
    compare(ours[p].prompt_log_probs, theirs[p].prompt_log_probs);
    for (std::size_t c = 0; c < theirs[p].completions.size(); ++c) {
      EXPECT_EQ(ours[p].completions[c].ids, theirs[p].completions[c].ids) << p;
      EXPECT_EQ(ours[p].completions[c].reason, theirs[p].completions[c].reason) << p;
      compare(ours[p].completions[c].log_probs, theirs[p].completions[c].log_probs);
    }
  }
  return worst;
}

TEST(StepsAheadTest, TheGeneratorReadsOnceInEightStepsAndKeepsItsBytes) {
  for (const char* name : {"gpt2", "llama"}) {
    LanguageModel model = open_golden(name);
    const PassSizes cpu = model.sizes();
    for (const SamplingConfig& sampling : kWays) {
      GenerationConfig config = config_of(sampling);
      config.stop_ids = {2, 11, 40};
      config.batch_size = 16;
      model.set_sizes(cpu);
      std::int64_t before = tensor::read_backs();
      const auto expected = generate(model, config);
      const std::int64_t reads = tensor::read_backs() - before;

      PassSizes ahead = cpu;
      ahead.steps_per_read = 8;
      model.set_sizes(ahead);
      before = tensor::read_backs();
      const auto results = generate(model, config);

      EXPECT_EQ(difference(results, expected), 0.0) << name;
      EXPECT_LT(tensor::read_backs() - before, reads / 3) << name;
    }
  }
}

TEST(StepsAheadTest, TheSizesOfAGpuGiveTheNumbersOfACpu) {
  const testing_support::TemporaryFolder folder;
  make_folder(folder.path(), {.layers = 3, .vocab = 9001});  // three blocks of a CPU, one of a GPU
  LanguageModel model = LanguageModel::open(folder.path());
  EXPECT_EQ(model.sizes(), pass_sizes(DeviceKind::cpu));
  double worst = 0.0;
  for (const SamplingConfig& sampling :
       {kWays[0], kWays[1], SamplingConfig{.is_greedy = false, .top_p = 0.9},
        SamplingConfig{.is_greedy = false, .top_k = 9, .repetition_penalty = 1.1}}) {
    model.set_sizes(pass_sizes(DeviceKind::cpu));
    const auto expected = generate(model, config_of(sampling));

    model.set_sizes(pass_sizes(DeviceKind::cuda));
    worst = std::max(worst, difference(generate(model, config_of(sampling)), expected));
  }

  testing_support::print_measured("log-probabilities with a GPU's sizes", worst, 1e-5);
  EXPECT_LE(worst, 1e-5);
}

// Keys and values keep 8 of 24 bits, which is a relative error of 1/256 in scores around 1 and in
// outputs.
TEST(StepsAheadTest, ACacheOfHalvesGivesTheLogProbabilitiesOfFloatsUpToItsRounding) {
  for (const char* name : {"gpt2", "gpt_oss", "llama", "mistral", "qwen3_switches"}) {
    const LanguageModel model = open_golden(name);
    GenerationConfig config = config_of({});
    config.max_new_tokens = 0;
    const auto expected = generate(model, config);

    config.cache_type = CacheType::bf16;
    const double worst = difference(generate(model, config), expected);

    testing_support::print_measured(std::string("log-probabilities, bf16 cache of ") + name, worst,
                                    0.05);
    EXPECT_LE(worst, 0.05) << name;
    EXPECT_GT(worst, 1e-5) << "nothing was rounded";
  }
}

TEST(StepsAheadTest, ACacheOfHalvesIsWrittenAndReadAlikeInAnySteps) {
  LanguageModel model = open_golden("llama");
  GenerationConfig config = config_of(kWays[1]);
  config.cache_type = CacheType::bf16;
  const auto expected = generate(model, config);
  PassSizes sizes = model.sizes();
  sizes.steps_per_read = 8;
  model.set_sizes(sizes);
  config.batch_size = 2;
  config.prefill_tokens = 3;

  EXPECT_EQ(difference(generate(model, config), expected), 0.0);
}

TEST(StepsAheadTest, SizesThatCannotBeAreRefused) {
  LanguageModel model = open_golden("llama");
  PassSizes sizes = model.sizes();
  sizes.vocabulary_block += 1;
  EXPECT_THROW(model.set_sizes(sizes), Error);
  sizes = model.sizes();
  sizes.steps_per_read = 0;
  EXPECT_THROW(model.set_sizes(sizes), Error);
}

}  // namespace
}  // namespace mgpu::lm
