// Compares generation with transformers' generate() (tests/oracle/generation.py), and tests that
// batching and paging do not change the result.
#include <filesystem>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/generator.hpp>

#include "golden_completion.hpp"
#include "golden_folder.hpp"
#include "golden_model.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

std::vector<Prompt> as_prompts(const std::vector<Ids>& ids, std::int64_t num_samples) {
  std::vector<Prompt> prompts;
  for (std::size_t p = 0; p < ids.size(); ++p)
    prompts.push_back({p * 100, ids[p], num_samples});
  return prompts;
}

Ids golden_ids(const std::string& name) {
  const formats::SafetensorsFile file(testing_support::lm_goldens() / "generation.safetensors");
  return values_of<std::int64_t>(*file.find(name));
}

GenerationConfig sampled(std::int64_t max_new_tokens) {
  GenerationConfig config;
  config.sampling.is_greedy = false;
  config.sampling.temperature = 0.9;
  config.sampling.top_p = 0.95;
  config.sampling.repetition_penalty = 1.1;
  config.sampling.seed = 5;
  config.max_new_tokens = max_new_tokens;
  return config;
}

bool are_equal(const PromptResult& a, const PromptResult& b) {
  if (a.prompt_log_probs != b.prompt_log_probs) return false;
  if (a.completions.size() != b.completions.size()) return false;
  for (std::size_t i = 0; i < a.completions.size(); ++i) {
    const Completion& x = a.completions[i];
    const Completion& y = b.completions[i];
    if (x.ids != y.ids || x.log_probs != y.log_probs || x.reason != y.reason) return false;
  }
  return true;
}

class GenerateOracleTest : public testing::TestWithParam<const char*> {};

TEST_P(GenerateOracleTest, GreedyCompletionsAreThoseOfTransformers) {
  const LanguageModel model = open_golden(GetParam());
  const std::string family = GetParam();
  std::vector<std::string> names = {family + ".one.", family + ".five.", family + ".twenty."};
  if (family == "llama_dynamic") {  // also beyond its context of 32 tokens
    names.push_back(family + ".across.");
    names.push_back(family + ".beyond.");
  }
  std::vector<Ids> ids;
  for (const std::string& name : names)
    ids.push_back(golden_ids(name + "ids"));

  for (const bool is_penalized : {false, true}) {
    const std::string kind = is_penalized ? "penalty" : "greedy";
    GenerationConfig config;
    config.max_new_tokens = 16;
    config.stop_ids = model.config().generation.eos_ids;
    if (is_penalized) config.sampling.repetition_penalty = 1.3;
    const auto results = Generator(model, config).run(as_prompts(ids, 1));
    for (std::size_t p = 0; p < ids.size(); ++p) {
      SCOPED_TRACE(names[p] + kind);
      expect_golden(results[p].completions.front(), golden_ids(names[p] + kind), config);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GenerateOracleTest,
                         testing::Values("gpt2", "gpt2_switches", "gpt_oss", "gpt_oss_switches",
                                         "llama", "llama_biases", "llama_dynamic", "llama_linear",
                                         "llama_llama3", "llama_yarn", "llama_yarn_switches",
                                         "mistral", "mistral_no_window", "qwen2", "qwen2_window",
                                         "qwen3", "qwen3_switches"),
                         [](const auto& entry) { return std::string(entry.param); });

class GeneratorTest : public testing::TestWithParam<const char*> {
protected:
  LanguageModel model_ = open_golden(GetParam());
};

TEST_P(GeneratorTest, ResultsDoNotDependOnTheBatch) {
  const std::vector<Ids> ids = make_prompts(7);
  const std::vector<Prompt> prompts = as_prompts(ids, 3);
  GenerationConfig config = sampled(12);
  config.stop_ids = {2, 11};
  config.scores_prompts = true;
  const auto expected = Generator(model_, config).run(prompts);

  for (const std::int64_t batch : {1, 2, 5, 64}) {
    config.batch_size = batch;
    config.prefill_tokens = batch == 2 ? 3 : 512;
    config.page_tokens = batch == 5 ? 1 : 4;
    Generator generator(model_, config);
    const auto together = generator.run(prompts);
    for (std::size_t p = 0; p < prompts.size(); ++p) {
      EXPECT_TRUE(are_equal(together[p], expected[p])) << batch << " prompt " << p;
      const auto alone = generator.run({&prompts[p], 1});
      EXPECT_TRUE(are_equal(alone[0], expected[p])) << batch << " prompt alone " << p;
    }
  }
}

/// Returns configs for sampling from a nucleus and from all tokens, each with and without a
/// penalty.
std::vector<SamplingConfig> ways_to_draw() {
  std::vector<SamplingConfig> ways;
  for (const double penalty : {1.0, 1.2}) {
    ways.push_back(sampled(0).sampling);
    ways.push_back({.is_greedy = false, .seed = 5});
    for (SamplingConfig& way : std::span(ways).last(2))
      way.repetition_penalty = penalty;
  }
  return ways;
}

TEST_P(GeneratorTest, RecordedLogProbsAreThoseScoredLater) {
  const std::vector<Ids> ids = make_prompts(4);
  for (const SamplingConfig& way : ways_to_draw()) {
    GenerationConfig config = sampled(9);
    config.sampling = way;
    const auto results = Generator(model_, config).run(as_prompts(ids, 2));

    config.max_new_tokens = 0;
    config.scores_prompts = true;
    for (std::size_t p = 0; p < ids.size(); ++p) {
      for (const Completion& completion : results[p].completions) {
        Ids whole = ids[p];
        whole.insert(whole.end(), completion.ids.begin(), completion.ids.end());
        const Prompt prompt{0, whole, 1};
        const auto scored = Generator(model_, config).run({&prompt, 1});
        const std::vector<float>& all = scored[0].prompt_log_probs;
        ASSERT_EQ(all.size(), whole.size() - 1);
        EXPECT_TRUE(scored[0].completions.empty());
        EXPECT_EQ(std::vector<float>(all.end() - 9, all.end()), completion.log_probs)
            << "top p " << way.top_p << " penalty " << way.repetition_penalty;
      }
    }
  }
}

/// Returns prompts that begin with the same 21 tokens.
std::vector<Ids> make_alike(std::size_t count) {
  std::vector<Ids> prompts = make_prompts(count);
  for (Ids& prompt : prompts)
    for (std::int64_t i = 0; i < 21; ++i)
      prompt.insert(prompt.begin(), (i * 5 + 2) % 67);
  return prompts;
}

TEST_P(GeneratorTest, ContinuationsAreScoredAsOnePromptWith) {
  const std::vector<Ids> continuations = {{5}, {5, 61, 8}, {44, 3}, {9, 9, 9, 9, 9, 1, 2}};
  GenerationConfig config;
  config.max_new_tokens = 0;
  for (const std::vector<Ids>& ids : {make_prompts(6), make_alike(6)}) {
    std::vector<Prompt> prompts = as_prompts(ids, 1);
    for (Prompt& prompt : prompts)
      prompt.continuations = continuations;
    for (const std::int64_t batch : {1, 3, 16}) {
      config.scores_prompts = false;
      config.batch_size = batch;
      config.prefill_tokens = batch == 3 ? 2 : 256;
      config.page_tokens = batch == 16 ? 16 : 4;
      Generator generator(model_, config);
      generator.run(prompts);  // frees all pages for the next run
      const auto scored = generator.run(prompts);

      config.scores_prompts = true;
      for (std::size_t p = 0; p < ids.size(); ++p) {
        EXPECT_TRUE(scored[p].prompt_log_probs.empty());
        for (std::size_t c = 0; c < continuations.size(); ++c) {
          Ids whole = ids[p];
          whole.insert(whole.end(), continuations[c].begin(), continuations[c].end());
          const Prompt joint{0, whole, 1};
          const auto all = Generator(model_, config).run({&joint, 1})[0].prompt_log_probs;
          const auto count = static_cast<std::ptrdiff_t>(continuations[c].size());
          EXPECT_EQ(scored[p].continuation_log_probs[c],
                    std::vector<float>(all.end() - count, all.end()))
              << "batch " << batch << " prompt " << p << " continuation " << c;
        }
      }
    }
  }
}

// RopeKind::dynamic rotates by the length of a sequence that exceeds the context of 32 tokens.
TEST(DynamicRopeTest, ScoresOfLongContinuationsDoNotDependOnPassSizes) {
  const auto model = LanguageModel::open(testing_support::lm_goldens() / "llama_dynamic");
  const Ids ids(30, 5);
  const std::vector<Ids> continuations = {{7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29}};
  const Prompt prompt{0, ids, 1, continuations};
  GenerationConfig config;
  config.max_new_tokens = 0;
  std::vector<std::vector<float>> scores;
  for (const std::int64_t tokens : {256, 5, 2}) {
    config.prefill_tokens = tokens;
    scores.push_back(Generator(model, config).run({&prompt, 1})[0].continuation_log_probs[0]);
  }
  EXPECT_EQ(scores[1], scores[0]);
  EXPECT_EQ(scores[2], scores[0]);
}

TEST_P(GeneratorTest, AnAlikeBeginningChangesNothing) {
  const std::vector<Ids> ids = make_alike(7);
  const std::vector<Prompt> prompts = as_prompts(ids, 2);
  GenerationConfig config = sampled(9);
  config.page_tokens = 4;

  for (const std::int64_t prefill : {3, 256}) {
    config.prefill_tokens = prefill;
    Generator generator(model_, config);
    const auto together = generator.run(prompts);
    for (std::size_t p = 0; p < prompts.size(); ++p)
      EXPECT_TRUE(are_equal(generator.run({&prompts[p], 1})[0], together[p])) << p;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GeneratorTest,
                         testing::Values("gpt2", "gpt_oss", "llama_llama3", "mistral", "qwen2",
                                         "qwen3_switches"),
                         [](const auto& entry) { return std::string(entry.param); });

TEST(GeneratorTest, SamplesOfAPromptDiffer) {
  const LanguageModel model = open_golden("llama");
  const std::vector<Ids> ids = make_prompts(1);

  const auto results = Generator(model, sampled(10)).run(as_prompts(ids, 2));

  EXPECT_NE(results[0].completions[0].ids, results[0].completions[1].ids);
}

TEST(GeneratorTest, CompletionsThatShareAPageNeedOneLessWhenTheyPart) {
  const LanguageModel model = open_golden("gpt2");
  const std::vector<Ids> ids = {{1, 40, 3, 22}, {1, 9}};
  GenerationConfig config = sampled(12);
  config.page_tokens = 16;  // prompt and completion share a page

  const auto results = Generator(model, config).run(as_prompts(ids, 2));

  for (std::size_t p = 0; p < ids.size(); ++p)
    for (const Completion& completion : results[p].completions)
      EXPECT_EQ(completion.ids.size(), 12U) << p;
}

TEST(GeneratorTest, FinishReasonsSayWhatEndedACompletion) {
  const LanguageModel model = open_golden("gpt2");  // 48 positions
  const Ids ids = make_prompts(1).front();          // 5 tokens
  const Prompt prompt{0, ids, 1};
  const auto run = [&](GenerationConfig config, const StopText& stop) {
    return Generator(model, std::move(config), stop).run({&prompt, 1})[0].completions[0];
  };
  const Completion full = run(sampled(20), {});
  ASSERT_EQ(full.ids.size(), 20U);
  EXPECT_EQ(full.reason, FinishReason::length);

  GenerationConfig stops = sampled(20);
  stops.stop_ids = {full.ids[3]};
  const Completion stopped = run(stops, {});
  EXPECT_EQ(stopped.reason, FinishReason::stop_id);
  EXPECT_EQ(stopped.ids.back(), full.ids[3]);
  EXPECT_LE(stopped.ids.size(), 4U);

  const Completion ended =
      run(sampled(20),
          [](std::uint64_t, std::span<const std::int64_t> new_ids) { return new_ids.size() == 7; });
  EXPECT_EQ(ended.reason, FinishReason::stop_text);
  EXPECT_EQ(ended.ids, Ids(full.ids.begin(), full.ids.begin() + 7));

  const Completion longest = run(sampled(100), {});
  EXPECT_EQ(longest.reason, FinishReason::context);
  EXPECT_EQ(longest.ids.size(), 44U);  // 43 tokens at the positions after the prompt's 5 of 48, and
                                       // one that needs no position
}

TEST(GeneratorTest, ACompletionThatHasBegunEndsByItsWholeLength) {
  const LanguageModel model = open_golden("gpt2");
  const Ids ids = make_prompts(1).front();
  const Prompt prompt{0, ids, 1, {}, 3};
  const Completion rest = Generator(model, sampled(8)).run({&prompt, 1})[0].completions[0];
  EXPECT_EQ(rest.ids.size(), 5U);
  EXPECT_EQ(rest.reason, FinishReason::length);
}

// Prompt "five" continues with the tokens 45 33 47 57, and token 4 comes later. Prompt "twenty"
// continues with 46 18 14 60 4, and has no token 57.
TEST(GeneratorTest, EachOfSeveralStopIdsIsTheLastOfItsCompletion) {
  const LanguageModel model = open_golden("llama");
  const std::vector<Ids> ids = {golden_ids("llama.five.ids"), golden_ids("llama.twenty.ids")};
  GenerationConfig config;
  config.max_new_tokens = 16;
  for (const Ids& stop_ids : {Ids{4, 57}, Ids{57, 4}}) {
    config.stop_ids = stop_ids;

    const auto results = Generator(model, config).run(as_prompts(ids, 1));

    EXPECT_EQ(results[0].completions[0].ids, (Ids{45, 33, 47, 57}));
    EXPECT_EQ(results[1].completions[0].ids, (Ids{46, 18, 14, 60, 4}));
    for (const PromptResult& result : results) {
      EXPECT_EQ(result.completions[0].log_probs.size(), result.completions[0].ids.size());
      EXPECT_EQ(result.completions[0].reason, FinishReason::stop_id);
    }
  }
}

TEST(GeneratorTest, PromptsThatCannotBeAreRefused) {
  const LanguageModel model = open_golden("gpt2");
  const Ids none;
  const Ids unknown{1, 67};
  const Ids longer(49, 1);

  for (const Ids* ids : {&none, &unknown, &longer}) {
    const Prompt prompt{0, *ids, 1};
    EXPECT_THROW(Generator(model, sampled(3)).run({&prompt, 1}), ShapeError);
  }
  EXPECT_TRUE(Generator(model, sampled(3)).run({}).empty());
}

}  // namespace
}  // namespace mgpu::lm
