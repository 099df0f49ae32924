// Compares the probabilities of process reward models with the outputs that training measures.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <support/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/config/step_head.hpp>
#include <mgpu/lm/forward/step_scorer.hpp>

#include "classifier_writer.hpp"
#include "golden_folder.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

using testing::HasSubstr;

/// Returns the logit of each step as training measures it.
std::vector<double> measured(const TrainableModel& model, const StepHead& head,
                             const SteppedSequence& sequence) {
  LmBatch batch{{{sequence.ids}}, std::vector<std::int64_t>(sequence.ids.size(), 0)};
  for (std::int64_t& target : batch.targets)
    target = kernels::kIgnoreTarget;
  for (const std::int64_t end : sequence.ends)
    batch.targets[static_cast<std::size_t>(end - 2)] =
        sequence.ids[static_cast<std::size_t>(end - 1)];
  const std::vector<double> outputs =
      model.measure(batch, {.log_probs = false, .head_rows = HeadRows::reached}).head;
  std::vector<double> logits;
  for (std::size_t i = 0; i < outputs.size(); i += static_cast<std::size_t>(head.outputs))
    logits.push_back(head.logit(&outputs[i]));
  return logits;
}

class StepScorerTest : public testing::TestWithParam<std::tuple<const char*, std::int64_t>> {};

TEST_P(StepScorerTest, GivesTheProbabilitiesOfTrainingForAnyBatch) {
  const auto& [family, outputs] = GetParam();
  const testing_support::TemporaryFolder folder;
  const StepHead head{.outputs = outputs, .place = StepPlace::last_token};
  const TrainableModel model =
      write_step_folder(testing_support::lm_goldens() / family, head, folder.path());
  const std::vector<SteppedSequence> sequences = {
      {{1, 5, 9, 2, 7, 3}, {3, 4, 6}}, {{4, 4, 8, 1}, {2}}, {{1, 5, 9, 2, 8}, {3, 5}}};

  const StepScorer scorer = StepScorer::open(folder.path());
  const std::vector<std::vector<double>> together = scorer.score(sequences);

  EXPECT_EQ(scorer.head().outputs, outputs);
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const std::vector<double> logits = measured(model, head, sequences[s]);
    ASSERT_EQ(together[s].size(), logits.size());
    for (std::size_t step = 0; step < logits.size(); ++step)
      EXPECT_NEAR(together[s][step], 1.0 / (1.0 + std::exp(-logits[step])), 1e-5);
    EXPECT_EQ(scorer.score({&sequences[s], 1})[0], together[s]);
  }
  EXPECT_EQ(together[0][0], together[2][0]);  // the same tokens up to the end of the first step
}

TEST(StepScorerPassTest, ScoresDoNotDependOnThePassesAndTheirOrder) {
  const testing_support::TemporaryFolder folder;
  write_step_folder(testing_support::lm_goldens() / "llama", {.place = StepPlace::last_token},
                    folder.path());
  const StepScorer scorer = StepScorer::open(folder.path());
  std::vector<SteppedSequence> sequences;
  for (std::int64_t s = 0; s < 70; ++s) {  // more tokens than one pass has
    SteppedSequence& sequence = sequences.emplace_back();
    for (std::int64_t t = 0; t < 20 + s; ++t)
      sequence.ids.push_back((s + 3 * t) % 60);
    sequence.ends = {1, 10 + s % 7, 20 + s};
  }
  const std::vector<std::vector<double>> forwards = scorer.score(sequences);
  std::ranges::reverse(sequences);
  std::vector<std::vector<double>> backwards = scorer.score(sequences);
  std::ranges::reverse(backwards);
  EXPECT_EQ(forwards, backwards);
  EXPECT_EQ(scorer.score({&sequences[3], 1})[0], forwards[66]);
}

TEST(StepScorerPassTest, TokensAfterTheLastStepAreNotRead) {
  const testing_support::TemporaryFolder folder;
  write_step_folder(testing_support::lm_goldens() / "gpt2", {.place = StepPlace::last_token},
                    folder.path());
  const StepScorer scorer = StepScorer::open(folder.path());
  const SteppedSequence whole{{1, 5, 9, 2}, {2, 4}};
  SteppedSequence longer = whole;
  longer.ids.insert(longer.ids.end(), 60, 100000);  // beyond the vocabulary and the 48 positions
  EXPECT_EQ(scorer.score({&longer, 1}), scorer.score({&whole, 1}));
  EXPECT_TRUE(scorer.score({}).empty());
}

TEST(StepScorerPassTest, SequencesThatCannotBeJudgedAreRefused) {
  const testing_support::TemporaryFolder folder;
  write_step_folder(testing_support::lm_goldens() / "gpt2", {.place = StepPlace::last_token},
                    folder.path());
  const StepScorer scorer = StepScorer::open(folder.path());
  const auto score = [&](const std::vector<std::int64_t>& ids, std::vector<std::int64_t> ends) {
    return scorer.score(std::vector<SteppedSequence>{{{1, 2}, {2}}, {ids, std::move(ends)}});
  };
  const std::vector<std::int64_t> all_positions(48, 3);
  EXPECT_EQ(score(all_positions, {48}).size(), 2U);
  EXPECT_THROW(score({1, 2}, {}), ShapeError);
  EXPECT_THROW(score({1, 67}, {2}), ShapeError);
  EXPECT_THROW(score(std::vector<std::int64_t>(49, 3), {49}), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Families, StepScorerTest,
                         testing::Combine(testing::Values("llama", "gpt2"),
                                          testing::Values(std::int64_t{1}, std::int64_t{2})));

TEST(StepHeadTest, FoldersOfTrlAreJudgedAtLineBreaks) {
  const fs::path source = testing_support::lm_goldens() / "llama";
  const testing_support::TemporaryFolder folder;
  const StepHead mine{.outputs = 2, .place = StepPlace::separator, .separator = "; "};
  write_step_folder(source, mine, folder.path());
  EXPECT_EQ(read_step_head(folder.path()).separator, "; ");

  CompanionFiles files = classifier_files(source, Classified::tokens, 2);
  write_file_durably(folder.path() / "config.json", files["config.json"], "model");
  EXPECT_EQ(read_step_head(folder.path()).place, StepPlace::separator);
  EXPECT_EQ(read_step_head(folder.path()).separator, "\n");
  EXPECT_EQ(read_step_head(folder.path()).outputs, 2);
}

TEST(StepHeadTest, FoldersThatDoNotJudgeStepsAreRefused) {
  const fs::path source = testing_support::lm_goldens() / "llama";
  const testing_support::TemporaryFolder folder;
  const auto why = [&](const fs::path& path) -> std::string {
    try {
      read_step_head(path);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.report().code, "E702");
      return failure.report().sentence;
    }
    return "";
  };
  EXPECT_THAT(why(source), HasSubstr("no process reward model"));
  CompanionFiles files = classifier_files(source, Classified::tokens, 3);
  write_file_durably(folder.path() / "config.json", files["config.json"], "model");
  EXPECT_THAT(why(folder.path()), HasSubstr("3 labels"));
}

}  // namespace
}  // namespace mgpu::lm
