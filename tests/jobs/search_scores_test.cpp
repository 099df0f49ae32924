// Tests the keys of generate.search, and the scores that models give to completions.
#include "jobs/generate/search_scores.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/forward/step_scorer.hpp>

#include "jobs/generate/search.hpp"
#include "lm/classifier_writer.hpp"
#include "made_inputs.hpp"
#include "support/project_folder.hpp"

namespace mgpu::jobs {
namespace {

using rows::test::ids_of;
using rows::test::kVocab;
using test::config_of;
using test::Keys;
using test::MadeInputs;
using test::report_of_failure;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const lm::StepHead kDrawn{.place = lm::StepPlace::last_token};

Config generate(Keys keys) {
  keys.insert({{"job", "generate"}, {"model.path", "m"}, {"data.path", "d"}});
  return config_of(keys);
}

/// Returns the code of the failure of check_search_keys(); "" if the keys are valid.
std::string rule_of(const Keys& keys) {
  return report_of_failure([&] { check_search_keys(generate(keys)); }).code;
}

TEST(SearchKeysTest, ASearchNeedsAModelAndItsKeysNeedASearch) {
  EXPECT_EQ(rule_of({}), "");
  EXPECT_EQ(rule_of({{"generate.search", "best_of_n"}}), "E124");
  EXPECT_EQ(rule_of({{"generate.search", "best_of_n"}, {"generate.reward.path", "r"}}), "");
  const std::vector<Keys> alone = {{{"generate.reward.path", "r"}},
                                   {{"generate.reward.aggregate", "last"}},
                                   {{"generate.reward.step_tokens", "4"}},
                                   {{"generate.reward.max_steps", "4"}}};
  for (const Keys& keys : alone)
    EXPECT_EQ(rule_of(keys), "E124") << keys.begin()->first;
}

TEST(SearchKeysTest, KeysHaveTheirMeaning) {
  EXPECT_FALSE(read_search_keys(generate({})));
  const Keys least = {{"generate.search", "best_of_n"}, {"generate.reward.path", "r"}};
  const SearchKeys keys = *read_search_keys(generate(least));
  EXPECT_EQ(keys.kind, SearchKind::best_of_n);
  EXPECT_EQ(keys.aggregate, StepAggregate::min);
  EXPECT_EQ(keys.steps.step_tokens, 0);
  EXPECT_EQ(keys.steps.max_steps, 32);
  const SearchKeys others = *read_search_keys(generate({{"generate.search", "weighted_vote"},
                                                        {"generate.reward.path", "r"},
                                                        {"generate.reward.aggregate", "product"},
                                                        {"generate.reward.step_tokens", "5"},
                                                        {"generate.reward.max_steps", "7"}}));
  EXPECT_EQ(others.kind, SearchKind::weighted_vote);
  EXPECT_EQ(others.aggregate, StepAggregate::product);
  EXPECT_EQ(others.folder.filename(), "r");
  EXPECT_EQ(others.steps.step_tokens, 5);
  EXPECT_EQ(others.steps.max_steps, 7);
}

/// A model with its tokenizer, and a folder `judge` for the model that scores.
class SearchScoresTest : public testing::Test {
protected:
  SearchScoresTest() {
    std::filesystem::create_directory(judge_);
    std::ifstream file(inputs_.model() / "config.json");
    config_.assign(std::istreambuf_iterator<char>(file), {});
    write_config("model", "LlamaForCausalLM");
  }

  /// Writes a process reward model with the tokenizer of the model.
  void write_judge(const lm::StepHead& head) {
    lm::write_step_folder(inputs_.model(), head, judge_);
    inputs_.write("judge/tokenizer.json", rows::test::char_tokenizer());
    inputs_.write("judge/tokenizer_config.json", rows::test::char_files().tokenizer_config);
  }

  /// Writes config.json of the made model to a folder, with an architecture and a vocabulary.
  void write_config(const std::string& name, const std::string& architecture,
                    std::int64_t vocab = kVocab) const {
    std::string text = config_;
    const std::string size = std::to_string(kVocab);
    text.replace(text.find(size, text.find("vocab_size")), size.size(), std::to_string(vocab));
    text.insert(text.find('{') + 1, R"("num_labels": 1, "step_head": {"place": "last_token"}, )"
                                    R"("architectures": [")" +
                                        architecture + R"("], )");
    inputs_.write(name + "/config.json", text);
  }

  SearchKeys keys(StepAggregate aggregate = StepAggregate::min,
                  std::int64_t step_tokens = 0) const {
    return {.folder = judge_, .aggregate = aggregate, .steps = {step_tokens, 32}};
  }

  /// Returns the report of the failure of check_search_files().
  ErrorReport refusal(Keys more = {}) const {
    more.insert({{"generate.search", "best_of_n"}, {"generate.reward.path", judge_.string()}});
    const Config config = inputs_.config("generate", more);
    return report_of_failure(
        [&] { check_search_files(config, *read_search_keys(config), inputs_.model(), false); });
  }

  /// Scores completions of the prompts.
  std::vector<CompletionScore> score(const SearchKeys& keys,
                                     const std::vector<std::string>& prompts,
                                     const std::vector<std::string>& texts) const {
    const rows::PromptEncoder encoder(text::read_text_files(inputs_.model()), inputs_.model(),
                                      {.vocab = kVocab});
    std::vector<rows::EncodedPrompt> encoded;
    std::vector<std::vector<std::int64_t>> ids;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      encoded.push_back({.text = prompts[i], .ids = ids_of(prompts[i])});
      ids.push_back(ids_of(texts[i]));
    }
    std::vector<SearchedCompletion> completions;
    for (std::size_t i = 0; i < texts.size(); ++i)
      completions.push_back({&encoded[i], encoded[i].ids, ids[i], texts[i]});
    return open_scorer(keys, encoder, inputs_.model(), {}, nullptr)->score(completions);
  }

  /// Returns the probabilities of steps that end after `ends` characters of `text`.
  std::vector<double> probabilities(const std::string& text, std::vector<std::int64_t> ends) const {
    const std::vector<lm::SteppedSequence> sequences = {{ids_of(text), std::move(ends)}};
    return lm::StepScorer::open(judge_).score(sequences).at(0);
  }

  MadeInputs inputs_;
  std::string config_;  // config.json of the made model, which names no architecture
  std::filesystem::path judge_ = inputs_.folder() / "judge";
};

TEST_F(SearchScoresTest, DrawnTokensAreJudgedAtTheEndsOfTheirLines) {
  write_judge(kDrawn);
  const auto scores = score(keys(), {"ab"}, {"c d\n\ne"});
  EXPECT_EQ(scores.at(0).steps, probabilities("abc d\n\ne", {6, 8}));
}

TEST_F(SearchScoresTest, TheScoreIsMadeOfTheStepsByTheKey) {
  write_judge(kDrawn);
  for (const StepAggregate aggregate :
       {StepAggregate::min, StepAggregate::product, StepAggregate::last}) {
    const CompletionScore scored = score(keys(aggregate, 2), {"ab"}, {"cdefg"}).at(0);
    const std::vector<double> steps = probabilities("abcdefg", {4, 6, 7});
    EXPECT_EQ(scored.steps, steps);
    const double expected = aggregate == StepAggregate::last ? steps[2]
                            : aggregate == StepAggregate::product
                                ? steps[0] * steps[1] * steps[2]
                                : std::min({steps[0], steps[1], steps[2]});
    EXPECT_DOUBLE_EQ(scored.score, expected);
  }
}

TEST_F(SearchScoresTest, TextsAreJudgedAtSeparatorsAfterLinesWithoutBlanksAtTheirEnds) {
  write_judge({.place = lm::StepPlace::separator, .separator = ": "});
  EXPECT_EQ(score(keys(), {"ab"}, {"c d \n\ne\n"}).at(0).steps,
            probabilities("abc d: \ne: ", {7, 11}));
  EXPECT_EQ(score(keys(StepAggregate::min, 4), {"ab"}, {"c d \n\ne"}).at(0).steps,
            probabilities("abc d : \n\ne: ", {8, 13}));
}

TEST_F(SearchScoresTest, ACompletionThatCannotBeEncodedHasNoScoreAndOthersKeepTheirs) {
  write_judge({.place = lm::StepPlace::separator, .separator = "\n"});
  const auto scores = score(keys(), {"a", "", "b"}, {"c", "d", "e"});
  EXPECT_EQ(scores.at(0).steps, probabilities("ac\n", {3}));
  EXPECT_TRUE(std::isnan(scores.at(1).score));  // a prompt without tokens
  EXPECT_THAT(scores.at(1).steps, IsEmpty());
  EXPECT_EQ(scores.at(2).steps, probabilities("be\n", {3}));
}

TEST_F(SearchScoresTest, ACompletionBeyondTheLearnedPositionsHasNoScore) {
  lm::write_step_folder(testing_support::lm_goldens() / "gpt2", kDrawn, judge_);
  const auto scores =
      score(keys(StepAggregate::last, 4), {std::string(40, 'a'), std::string(40, 'a'), "a"},
            {std::string(8, 'b'), std::string(9, 'b'), "b"});
  EXPECT_EQ(scores.at(0).steps,
            probabilities(std::string(40, 'a') + std::string(8, 'b'), {44, 48}));
  EXPECT_TRUE(std::isnan(scores.at(1).score));
  EXPECT_FALSE(std::isnan(scores.at(2).score));
}

TEST_F(SearchScoresTest, LinesNeedATokenizer) {
  write_judge(kDrawn);
  const rows::PromptEncoder encoder(std::nullopt, inputs_.model(), {.vocab = kVocab});
  const auto code = [&](std::int64_t step_tokens) {
    const SearchKeys given = keys(StepAggregate::min, step_tokens);
    return report_of_failure([&] { open_scorer(given, encoder, inputs_.model(), {}, nullptr); })
        .code;
  };
  EXPECT_EQ(code(0), "E603");
  EXPECT_EQ(code(4), "");
}

TEST_F(SearchScoresTest, AModelOfOtherTokensIsRefused) {
  write_config("judge", "LlamaForTokenClassification");
  EXPECT_THAT(refusal().sentence, HasSubstr("another tokenizer"));
  inputs_.write("judge/tokenizer.json", rows::test::char_tokenizer());
  inputs_.write("judge/tokenizer_config.json", rows::test::char_files().tokenizer_config);
  EXPECT_EQ(refusal().code, "");
  write_config("model", "LlamaForCausalLM", kVocab + 1);
  EXPECT_EQ(refusal().code, "E107");
  EXPECT_EQ(refusal().exit, ExitCode::config);
  EXPECT_THAT(refusal().sentence, HasSubstr("a vocabulary of 64 tokens, and model.path one of 65"));
}

TEST_F(SearchScoresTest, AFolderWithoutModelOrTokenizerIsRefused) {
  EXPECT_EQ(refusal().code, "E603");
  EXPECT_EQ(refusal().exit, ExitCode::no_input);
  write_judge({.place = lm::StepPlace::separator});
  EXPECT_EQ(refusal().code, "");
  std::filesystem::remove(judge_ / "tokenizer.json");
  EXPECT_EQ(refusal().code, "E553");
  EXPECT_THAT(refusal().lines, ElementsAre("  --> " + judge_.string()));
}

TEST_F(SearchScoresTest, KeysOfStepsMeanNothingForARewardModel) {
  write_config("judge", "LlamaForSequenceClassification");
  for (const auto& [key, value] : Keys{{"generate.reward.aggregate", "last"},
                                       {"generate.reward.step_tokens", "4"},
                                       {"generate.reward.max_steps", "4"}}) {
    const ErrorReport report = refusal({{key, value}});
    EXPECT_EQ(report.code, "E124");
    EXPECT_THAT(report.sentence, HasSubstr("`" + key + "` is about steps"));
  }
}

TEST_F(SearchScoresTest, TheBannerNamesTheSearch) {
  write_config("judge", "LlamaForTokenClassification");
  EXPECT_EQ(search_text(keys(StepAggregate::product)),
            "best by " + judge_.string() + ", product over steps");
  SearchKeys vote = keys();
  vote.kind = SearchKind::weighted_vote;
  write_config("judge", "LlamaForSequenceClassification");
  EXPECT_EQ(search_text(vote), "weighted vote by " + judge_.string());
}

}  // namespace
}  // namespace mgpu::jobs
