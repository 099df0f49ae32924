// Compares the probabilities of process reward models with the outputs that training measures.
#include <cmath>
#include <cstdint>
#include <string>
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

namespace mgpu::lm {
namespace {

using testing::HasSubstr;

/// Writes a process reward model with random weights to `folder`.
TrainableModel write_step_folder(const fs::path& source, const StepHead& head,
                                 const fs::path& folder) {
  TrainableModel model = write_value_folder(
      source, {.kind = ValueKind::histogram, .outputs = head.outputs}, 0.5, folder);
  CompanionFiles files = classifier_files(source, Classified::tokens, head.outputs);
  write_file_durably(folder / "config.json",
                     with_step_head(source / "config.json", files["config.json"], head), "model");
  return model;
}

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
      write_step_folder(fs::path(MGPU_GOLDENS) / family, head, folder.path());
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

INSTANTIATE_TEST_SUITE_P(Families, StepScorerTest,
                         testing::Combine(testing::Values("llama", "gpt2"),
                                          testing::Values(std::int64_t{1}, std::int64_t{2})));

TEST(StepHeadTest, FoldersOfTrlAreJudgedAtLineBreaks) {
  const fs::path source = fs::path(MGPU_GOLDENS) / "llama";
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
  const fs::path source = fs::path(MGPU_GOLDENS) / "llama";
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
