// Tests completions of job generate against transformers' generate() and float64 logits
// (tests/oracle/generation.py, language_models.py).
#include "jobs/generate/completions.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "lm/golden_completion.hpp"
#include "lm/golden_folder.hpp"
#include "support/project_folder.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;
using lm::values_of;

const fs::path kGoldens = testing_support::lm_goldens();

rows::PromptEncoder without_tokenizer(const lm::LanguageModel& model) {
  rows::PromptEncoder::Options options;
  options.vocab = model.config().vocab;
  return {std::nullopt, "", options};
}

class CompleterTest : public testing::TestWithParam<const char*> {
protected:
  lm::LanguageModel model_ = lm::LanguageModel::open(kGoldens / GetParam());
  rows::PromptEncoder encoder_ = without_tokenizer(model_);
};

TEST_P(CompleterTest, GreedyContinuationsAreThoseOfTransformers) {
  const formats::SafetensorsFile file(kGoldens / "generation.safetensors");
  std::vector<rows::EncodedPrompt> prompts;
  std::vector<std::vector<std::int64_t>> expected;
  for (const char* name : {"one", "five", "twenty"}) {
    const std::string key = std::string(GetParam()) + "." + name + ".";
    prompts.push_back({"", values_of<std::int64_t>(*file.find(key + "ids"))});
    expected.push_back(values_of<std::int64_t>(*file.find(key + "greedy")));
  }
  GenerateConfig config;
  config.generation.max_new_tokens = 16;
  config.generation.stop_ids = model_.config().generation.eos_ids;

  const auto completed = Completer(model_, encoder_, config).run(prompts, 0);

  for (std::size_t p = 0; p < prompts.size(); ++p) {
    SCOPED_TRACE(p);
    lm::expect_golden(completed[p].result.completions.front(), expected[p], config.generation);
  }
}

TEST_P(CompleterTest, ScoredPromptsHaveTheLogProbsOfTheLogits) {
  GenerateConfig config;
  config.generation.max_new_tokens = 0;
  config.generation.scores_prompts = true;
  Completer completer(model_, encoder_, config);
  std::size_t compared = 0;
  for (const lm::Golden& golden : lm::read_goldens(kGoldens / GetParam())) {
    const rows::EncodedPrompt prompt{"", golden.ids};
    const auto completed = completer.run({&prompt, 1}, 0);
    if (completed[0].facts.status != rows::RowStatus::ok)
      continue;  // longer than the learned positions
    const auto& log_probs = completed[0].result.prompt_log_probs;
    ASSERT_EQ(log_probs.size(), golden.ids.size() - 1);
    const std::size_t vocab = golden.logits.size() / golden.ids.size();
    for (std::size_t t = 0; t + 1 < golden.ids.size(); ++t, ++compared) {
      const double* row = golden.logits.data() + t * vocab;
      double sum = 0.0;
      for (std::size_t v = 0; v < vocab; ++v)
        sum += std::exp(row[v]);
      const auto next = static_cast<std::size_t>(golden.ids[t + 1]);
      EXPECT_NEAR(log_probs[t], row[next] - std::log(sum), 1e-4) << golden.name << " " << t;
    }
  }
  EXPECT_GT(compared, 20U);
}

INSTANTIATE_TEST_SUITE_P(Families, CompleterTest, testing::Values("gpt2", "llama", "qwen3"),
                         [](const auto& entry) { return std::string(entry.param); });

TEST(CompleterTest, ResultsFollowFromTheGlobalIdAlone) {
  const auto model = lm::LanguageModel::open(kGoldens / "llama");
  const rows::PromptEncoder encoder = without_tokenizer(model);
  GenerateConfig config;
  config.num_samples = 2;
  config.generation.max_new_tokens = 8;
  config.generation.sampling.is_greedy = false;
  const std::vector<rows::EncodedPrompt> prompts(5, {"", {1, 40, 3}});
  Completer completer(model, encoder, config);

  const auto together = completer.run(prompts, 10);
  const auto alone = completer.run(std::span(prompts).subspan(3, 1), 13);

  for (std::size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(together[3].result.completions[s].ids, alone[0].result.completions[s].ids);
    EXPECT_EQ(together[3].result.completions[s].log_probs,
              alone[0].result.completions[s].log_probs);
  }
  EXPECT_NE(together[2].result.completions[0].ids, together[3].result.completions[0].ids);
}

}  // namespace
}  // namespace mgpu::jobs
