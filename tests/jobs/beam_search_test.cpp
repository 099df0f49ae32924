// Tests beams with a scorer whose scores are known: which completions go on, and that the batch
// does not matter.
#include "jobs/generate/beam_search.hpp"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "jobs/generate/completions.hpp"
#include "support/project_folder.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kStepTokens = 3;
constexpr std::int64_t kNewTokens = 11;

/// Scores a completion by its last token, and remembers what it scored.
class LastTokenScorer final : public CompletionScorer {
public:
  struct Call {
    std::vector<Ids> ids;
    std::vector<double> scores;
  };

  std::vector<CompletionScore> score(std::span<const SearchedCompletion> completions) override {
    std::vector<CompletionScore> scores;
    calls.emplace_back();
    for (const SearchedCompletion& completion : completions) {
      scores.push_back({static_cast<double>(completion.ids.back() * 37 % 101) / 101, {}});
      calls.back().ids.emplace_back(completion.ids.begin(), completion.ids.end());
      calls.back().scores.push_back(scores.back().score);
    }
    return scores;
  }

  std::vector<Call> calls;
};

class BeamSearchTest : public testing::Test {
protected:
  BeamSearchTest() {
    config_.num_samples = 8;
    config_.generation.max_new_tokens = kNewTokens;
    config_.generation.sampling.is_greedy = false;
    keys_.kind = SearchKind::beam;
    keys_.steps = {kStepTokens, 32};
  }

  static rows::PromptEncoder encoder_of(const lm::LanguageModel& model) {
    return {std::nullopt, "", {.vocab = model.config().vocab}};
  }

  std::vector<CompletedPrompt> complete(std::span<const rows::EncodedPrompt> prompts,
                                        std::int64_t batch_size, std::int64_t first = 0) {
    config_.generation.batch_size = batch_size;
    Completer completer(model_, encoder_, config_);
    completer.use_beams(keys_, &scorer_);
    return completer.run(prompts, first);
  }

  lm::LanguageModel model_ = lm::LanguageModel::open(testing_support::lm_goldens() / "llama");
  rows::PromptEncoder encoder_ = encoder_of(model_);
  GenerateConfig config_;
  SearchKeys keys_;
  LastTokenScorer scorer_;
  const std::vector<rows::EncodedPrompt> prompts_{
      {"", {1, 40, 3}}, {"", {17, 2, 30, 44, 8}}, {"", {50, 12, 7, 33}}};
};

TEST(ContinuedTest, TheBestShareThePlaces) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(continued_of(std::vector{0.1, 0.9, 0.5, 0.7}, 2), ElementsAre(1, 1, 3, 3));
  EXPECT_THAT(continued_of(std::vector{0.1, 0.9, 0.5, 0.7, 0.3}, 2), ElementsAre(1, 1, 3, 3, 2));
  EXPECT_THAT(continued_of(std::vector{0.1, 0.9, 0.5}, 4), ElementsAre(1, 1, 1));
  EXPECT_THAT(continued_of(std::vector{none, 0.0, none}, 2), ElementsAre(1, 1, 0));
  EXPECT_THAT(continued_of(std::vector{0.5, 0.5}, 2), ElementsAre(0, 0));
  EXPECT_TRUE(continued_of({}, 2).empty());
}

/// Returns whether `ids` is `start` with at most one more step.
bool continues(const Ids& ids, const Ids& start) {
  return ids.size() > start.size() && ids.size() <= start.size() + kStepTokens &&
         std::equal(start.begin(), start.end(), ids.begin());
}

TEST_F(BeamSearchTest, AfterEachStepTheBestCompletionsGoOn) {
  config_.generation.stop_ids = {};  // all completions are equally long
  const auto completed = complete(std::span(prompts_).first(1), 64);

  ASSERT_EQ(scorer_.calls.size(), 3U);  // after 3, 6 and 9 tokens
  std::vector<std::vector<Ids>> next;
  for (const auto& call : scorer_.calls)
    next.push_back(call.ids);
  next.emplace_back();
  for (const lm::Completion& completion : completed[0].result.completions)
    next.back().push_back(completion.ids);
  for (std::size_t round = 0; round < scorer_.calls.size(); ++round) {
    const auto& call = scorer_.calls[round];
    const auto continued = continued_of(call.scores, keys_.beam_width);
    ASSERT_EQ(next[round + 1].size(), 8U);
    for (std::size_t place = 0; place < 8; ++place)
      EXPECT_TRUE(continues(next[round + 1][place], call.ids[continued[place]])) << round;
  }
  for (const Ids& ids : next.back())
    EXPECT_EQ(ids.size(), kNewTokens);
  EXPECT_NE(next.back()[0], next.back()[1]);  // copies of a completion draw other tokens
}

TEST_F(BeamSearchTest, CompletionsThatHaveEndedKeepTheirPlaces) {
  const auto free = complete(std::span(prompts_).first(1), 64);
  const Ids first = scorer_.calls[0].ids[2];
  config_.generation.stop_ids = {first[1]};  // ends the third completion within its first step
  const auto completed = complete(std::span(prompts_).first(1), 64);
  const lm::Completion& ended = completed[0].result.completions[2];
  EXPECT_EQ(ended.reason, lm::FinishReason::stop_id);
  EXPECT_EQ(ended.ids, Ids(first.begin(), first.begin() + 2));
}

TEST_F(BeamSearchTest, ABatchDoesNotMatter) {
  const auto together = complete(prompts_, 64, 5);
  for (const std::int64_t batch : {1, 16}) {
    const auto others = complete(prompts_, batch, 5);
    for (std::size_t p = 0; p < prompts_.size(); ++p)
      for (std::size_t i = 0; i < 8; ++i) {
        const lm::Completion& expected = together[p].result.completions[i];
        EXPECT_EQ(others[p].result.completions[i].ids, expected.ids) << batch;
        EXPECT_EQ(others[p].result.completions[i].log_probs, expected.log_probs) << batch;
      }
  }
}

TEST_F(BeamSearchTest, LogProbsAreThoseOfScoringTheCompletion) {
  config_.generation.scores_prompts = true;
  Completer completer(model_, encoder_, config_);
  completer.use_beams(keys_, &scorer_);
  lm::GenerationConfig scores_only;
  scores_only.max_new_tokens = 0;
  scores_only.scores_prompts = true;
  for (std::size_t p = 0; p < 2; ++p) {  // the second call allocates both caches again
    const auto completed = completer.run(std::span(prompts_).subspan(p, 1), 0);
    for (const lm::Completion& completion : completed[0].result.completions) {
      Ids ids = prompts_[p].ids;
      ids.insert(ids.end(), completion.ids.begin(), completion.ids.end());
      const lm::Prompt prompt{0, ids};
      const auto scored = lm::Generator(model_, scores_only).run({&prompt, 1});
      std::vector<float> log_probs = completed[0].result.prompt_log_probs;
      log_probs.insert(log_probs.end(), completion.log_probs.begin(), completion.log_probs.end());
      EXPECT_EQ(log_probs, scored[0].prompt_log_probs);
    }
  }
}

}  // namespace
}  // namespace mgpu::jobs
