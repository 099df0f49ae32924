// Tests which label a model gives to a text.
#include "jobs/classify/label_scorer.hpp"

#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/log_softmax.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "lm/logits_of.hpp"
#include "made_inputs.hpp"

namespace mgpu::jobs {
namespace {

using rows::test::ids_of;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Scores = std::vector<std::vector<float>>;

ClassifyConfig three_labels() {
  ClassifyConfig config;
  config.labels = {"a", "b", "c"};
  config.positive = 2;
  return config;
}

TEST(BestLabelTest, TheLargestSumWins) {
  const Scores scores = {{-3.0F}, {-0.5F, -0.5F}, {-2.0F}};
  const GivenLabel given = best_label(scores, three_labels());

  EXPECT_EQ(given.label, 1);
  EXPECT_EQ(given.output, "b");
  EXPECT_THAT(given.label_scores, ElementsAre(-3.0, -1.0, -2.0));
  EXPECT_EQ(given.score, -1.0);
  EXPECT_EQ(given.margin, 1.0);
  EXPECT_EQ(given.output_tokens, 0);
}

TEST(BestLabelTest, ProbabilitiesAreThoseAmongTheLabels) {
  const Scores scores = {{-3.0F}, {-1.0F}, {-2.0F}};
  const GivenLabel given = best_label(scores, three_labels());

  const double sum = std::exp(-3.0) + std::exp(-1.0) + std::exp(-2.0);
  EXPECT_NEAR(given.confidence, std::exp(-1.0) / sum, 1e-12);
  EXPECT_NEAR(given.positive, std::exp(-2.0) / sum, 1e-12);
}

TEST(BestLabelTest, ProbabilitiesOfVeryUnlikelyLabelsAreFinite) {
  const Scores scores = {{-2000.0F}, {-2001.0F}, {-2000.0F}};
  EXPECT_NEAR(best_label(scores, three_labels()).positive, 1.0 / (2.0 + std::exp(-1.0)), 1e-12);
}

TEST(BestLabelTest, AMeanDoesNotPreferShortLabels) {
  ClassifyConfig config = three_labels();
  const Scores scores = {{-1.5F}, {-1.0F, -1.0F, -1.0F}, {-2.0F}};
  EXPECT_EQ(best_label(scores, config).label, 0);
  config.is_mean = true;
  const GivenLabel given = best_label(scores, config);
  EXPECT_EQ(given.label, 1);
  EXPECT_EQ(given.score, -1.0);
  EXPECT_EQ(given.margin, 0.5);
}

TEST(BestLabelTest, OfEqualLabelsTheFirstWinsWithoutMargin) {
  const Scores scores = {{-2.0F}, {-1.0F}, {-1.0F}};
  EXPECT_EQ(best_label(scores, three_labels()).label, 1);
  EXPECT_EQ(best_label(scores, three_labels()).margin, 0.0);
}

class LabelScorerTest : public testing::Test {
protected:
  LabelScorerTest() {
    config_.labels = {"no", "yes"};
    config_.positive = 1;
    strategy_.max_tokens = 3;
  }

  ClassifySample sample(const std::string& prompt) const {
    ClassifySample sample;
    sample.ids = ids_of(prompt);
    if (!config_.generates)
      for (const std::string& label : config_.labels)
        sample.continuations.push_back(ids_of(" " + label));
    return sample;
  }

  std::vector<GivenLabel> run(const std::vector<ClassifySample>& samples, std::int64_t first = 0,
                              std::int64_t batch = 4) const {
    return LabelScorer(model_, encoder_, config_, strategy_, batch).run(samples, first);
  }

  /// Returns the sum of the log-probabilities that the model gives to the tokens of `label` after
  /// `prompt`.
  double expected(const std::string& prompt, const std::string& label) const {
    const std::vector<std::int64_t> ids = ids_of(prompt + " " + label);
    const lm::SequenceSpan run{ids};
    const at::Tensor log_probs =
        at::log_softmax(logits_of(model_, model_.hidden({&run, 1})).to(at::kDouble), 1);
    double sum = 0.0;
    for (std::size_t t = prompt.size(); t < ids.size(); ++t)
      sum += log_probs[static_cast<std::int64_t>(t) - 1][ids[t]].item<double>();
    return sum;
  }

  const test::MadeInputs made_;
  const lm::LanguageModel model_ = lm::LanguageModel::open(made_.model());
  ClassifyConfig config_;
  PromptStrategy strategy_;
  ClassifyEncoder encoder_{rows::test::char_folder(), {}};
};

TEST_F(LabelScorerTest, ScoresAreTheLogProbsOfTheLabelsBehindThePrompt) {
  const std::vector<GivenLabel> given = run({sample("say hi:"), sample("x")});

  ASSERT_THAT(given, SizeIs(2));
  const double no = expected("say hi:", "no");
  const double yes = expected("say hi:", "yes");
  EXPECT_THAT(given[0].label_scores, ElementsAre(DoubleNear(no, 1e-4), DoubleNear(yes, 1e-4)));
  EXPECT_EQ(given[0].label, yes > no ? 1 : 0);
  EXPECT_NEAR(given[1].label_scores[0], expected("x", "no"), 1e-4);
}

TEST_F(LabelScorerTest, ARowIsJudgedAloneHoweverManyAreBesideIt) {
  const std::vector<ClassifySample> samples = {sample("one"), sample("two is longer"),
                                               sample("three")};
  const auto together = run(samples, 0, 4);
  const auto alone = run({samples[1]}, 1, 1);

  EXPECT_EQ(together[1].label_scores, alone[0].label_scores);
}

TEST_F(LabelScorerTest, ARowWithoutTokensIsUnknown) {
  for (const bool generates : {false, true}) {
    config_.generates = generates;
    ClassifySample empty;
    const auto given = run({empty, sample("x")});
    EXPECT_EQ(given[0].label, -1);
    EXPECT_THAT(given[0].label_scores, IsEmpty());
    EXPECT_EQ(given[0].output_tokens, 0);
  }
}

TEST_F(LabelScorerTest, AnAnswerOfRandomWeightsNamesNoLabel) {
  config_.generates = true;
  const auto given = run({sample("say hi:")});

  EXPECT_EQ(given[0].label, -1);
  EXPECT_EQ(given[0].positive, 0.5);
  EXPECT_THAT(given[0].label_scores, IsEmpty());
  EXPECT_GT(given[0].output_tokens, 0);
  EXPECT_LE(given[0].output_tokens, 3);
  EXPECT_LT(given[0].score, 0.0);
}

TEST_F(LabelScorerTest, AnAnswerWithoutALabelMayEndTheRun) {
  config_.generates = true;
  config_.on_unparsed = Unparsed::error;
  const ErrorReport report = test::report_of_failure([&] {
    run({ClassifySample{}, sample("x")}, 10);
  });
  EXPECT_EQ(report.code, "E537");
  EXPECT_EQ(report.exit, ExitCode::data);
  EXPECT_EQ(report.sentence, "the answer to row 11 names no label");
}

TEST_F(LabelScorerTest, TheSameAnswerIsNotDrawnAgain) {
  config_.generates = true;
  config_.on_unparsed = Unparsed::retry;
  EXPECT_EQ(test::report_of_failure([&] { run({sample("x")}); }).code, "E124");
  strategy_.temperature = 1.0;
  const auto retried = run({sample("x")});
  config_.on_unparsed = Unparsed::count;
  const auto once = run({sample("x")});
  EXPECT_NE(retried[0].output, once[0].output);  // the answer of the last of three draws
}

TEST_F(LabelScorerTest, TheBatchIsThatOfAllDraws) {
  config_.generates = true;
  config_.on_unparsed = Unparsed::retry;
  strategy_.temperature = 1.0;
  LabelScorer scorer(model_, encoder_, config_, strategy_, 8);
  EXPECT_EQ(scorer.batch_size(), 8);
  scorer.set_batch_size(2);
  EXPECT_EQ(scorer.batch_size(), 2);
  const std::vector<ClassifySample> samples(3, sample("x"));
  EXPECT_THAT(scorer.run(samples, 0), SizeIs(3));
}

}  // namespace
}  // namespace mgpu::jobs
