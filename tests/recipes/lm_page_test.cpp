// Tests the page of a training of a language model.
#include <cmath>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "recipes/lm/page.hpp"
#include "report/well_formed.hpp"

namespace mgpu::recipes {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

void add(report::Curve& curve, double x, double y) {
  curve.x.push_back(x);
  curve.y.push_back(y);
}

/// Returns the plots of a training from random weights with a vocabulary of 528 tokens. The loss
/// falls to 0.5.
LmPlots sample_plots() {
  LmPlots plots;
  plots.vocab = 528;
  plots.held_out = "data.eval_path";
  plots.accuracy = "next-token accuracy";
  plots.epochs = 1.5;
  plots.fill = 0.9;
  plots.mean_tokens = 100.0;
  for (int step = 1; step <= 400; ++step) {
    add(plots.train_loss, step, 0.5 + 5.75 * std::exp(-(step - 1) / 30.0));
    add(plots.train_accuracy, step, 0.9 - 0.8 / step);
    add(plots.learning_rate, step, 1e-3);
    if (step % 100 != 0) continue;
    add(plots.held_out_loss, step, 0.75);
    add(plots.held_out_accuracy, step, 0.8);
  }
  return plots;
}

/// Returns sample_plots() as those of a student: loss = 0.25 CE + 0.75 distance.
LmPlots student_plots() {
  LmPlots plots = sample_plots();
  plots.meaning = {.name = "0.25 cross-entropy + 0.75 distance from the teacher",
                   .is_cross_entropy = false,
                   .ce_weight = 0.25,
                   .distance = "forward KL"};
  for (std::size_t i = 0; i < plots.train_loss.x.size(); ++i)
    add(plots.cross_entropy, plots.train_loss.x[i], 2.0 * plots.train_loss.y[i]);
  return plots;
}

std::string page_of(const LmPlots& plots, report::RunSummary summary = {}) {
  const LmPage page(plots);
  summary.samples_per_second = 12.5;
  summary.results = {{"loss", "loss", 0.5, "nats", 4}};
  if (!plots.held_out_loss.empty())
    summary.results.push_back({"eval_loss", "loss on data.eval_path", 0.75, "nats", 4});
  page.record(summary);
  return report::html_page(page.page(summary), summary);
}

TEST(LmPageTest, MeasuresNatsPerTokenAgainstAGuessAmongTheVocabulary) {
  const std::string html = page_of(sample_plots());

  EXPECT_THAT(html, AllOf(HasSubstr("loss (nats per token)"), HasSubstr("ln 528 = 6.269"),
                          HasSubstr("6.269  a guess")));
  EXPECT_THAT(html, AllOf(Not(HasSubstr("action")), Not(HasSubstr("ln 5 "))));
}

TEST(LmPageTest, TheHeadlineHasLossPerplexityAndHeldOutLoss) {
  EXPECT_EQ(lm_headline(sample_plots(), {}),
            "Loss fell from 6.25 to 0.5 nats per token (perplexity 1.649); on data.eval_path it is "
            "0.75 (perplexity 2.117).");
  LmPlots flat = sample_plots();
  flat.held_out_loss = {};
  flat.train_loss.y.back() = 7.0;
  EXPECT_EQ(lm_headline(flat, {}),
            "Loss did not fall: 6.25, then 7 nats per token (perplexity 1097).");
}

TEST(LmPageTest, TheHeldOutCurveIsInTheChartOfTheTrainingLoss) {
  const std::string html = page_of(sample_plots());
  const std::string loss = report::charts_in(html).front();

  EXPECT_THAT(loss, AllOf(HasSubstr("0.750  held out"), HasSubstr("train</text>")));
  EXPECT_THAT(html, HasSubstr("Held out: data.eval_path"));
}

TEST(LmPageTest, TilesHaveUnitsAndThePaceInTokens) {
  const std::string html = page_of(sample_plots());

  EXPECT_THAT(html, AllOf(HasSubstr(">0.5000</span><small>nats</small></b>"),
                          HasSubstr(">0.7500</span><small>nats</small></b>"),
                          HasSubstr(">1,250</span><small>tokens/s</small></b>"),
                          HasSubstr(">1.50</span></b>")));
}

TEST(LmPageTest, AStudentHasItsCrossEntropyAndItsDistanceApart) {
  const LmPlots plots = student_plots();
  const report::Curve distance = distance_of(plots);
  ASSERT_EQ(distance.y.size(), 400U);
  // The last loss is 0.5 = 0.25 * 1.0 + 0.75 * D.
  EXPECT_NEAR(distance.y.back(), 1.0 / 3.0, 1e-5);

  const std::string html = page_of(plots);
  EXPECT_THAT(html, AllOf(HasSubstr("<h3>Cross-entropy</h3>"),
                          HasSubstr("<h3>Distance from the teacher</h3>"), HasSubstr("forward KL"),
                          HasSubstr("the cross-entropy is 0.75")));
  EXPECT_EQ(report::charts_in(html).size(), 4U);  // loss, cross-entropy, distance, accuracy
  EXPECT_THAT(html, Not(HasSubstr("perplexity of the last batch")));
}

TEST(LmPageTest, ValuesOfARecipeHaveAChartForEachTitle) {
  LmPlots plots = sample_plots();
  plots.meaning = {.name = "preference loss",
                   .per = "pair",
                   .is_cross_entropy = false,
                   .held_out_is_cross_entropy = false};
  for (const auto& [name, chart] :
       {std::pair{"chosen_reward", "Rewards"}, std::pair{"reward_margin", "Rewards"},
        std::pair{"chosen_log_prob", "Log-probabilities"}}) {
    ValueCurves value{{name, name, "a mean", "", chart}, plots.train_loss, {}};
    plots.values.push_back(value);
  }
  const std::string html = page_of(plots);

  EXPECT_THAT(html, AllOf(HasSubstr("<h3>Rewards</h3>"), HasSubstr("<h3>Log-probabilities</h3>"),
                          HasSubstr("chosen_reward: a mean, reward_margin: a mean"),
                          HasSubstr("loss (nats per pair)"), HasSubstr("last batch, per pair")));
  EXPECT_EQ(report::charts_in(html).size(), 4U);  // loss, accuracy, rewards, log-probabilities
  for (const std::string& drawn : report::charts_in(html))
    EXPECT_EQ(report::malformed(drawn), "");
  EXPECT_THAT(lm_headline(plots, {}), HasSubstr("nats per pair"));
}

TEST(LmPageTest, AGoalIsComparedInTheFirstAndTheLastSteps) {
  LmPlots plots = sample_plots();
  plots.goal = "reward";
  EXPECT_EQ(goal_text(plots), "");
  ValueCurves& reward = plots.values.emplace_back(
      ValueCurves{{"reward", "reward", "mean reward", "", "Rewards"}, {}, {}});
  for (int step = 1; step <= 30; ++step)
    add(reward.train, step, step <= 10 ? 0.25 : step <= 20 ? 9.0 : 0.75);

  EXPECT_EQ(goal_text(plots), "mean reward 0.7500 in the last 10 steps, 0.2500 in the first 10");
  EXPECT_THAT(page_of(plots), HasSubstr("Mean reward 0.7500 in the last 10 steps"));
  EXPECT_THAT(page_of(plots), Not(HasSubstr("Loss fell from")));
  EXPECT_LT(page_of(plots).find("<h3>Rewards</h3>"), page_of(plots).find("<h3>Loss</h3>"));
  reward.train = {};
  for (int step = 1; step <= 3; ++step)
    add(reward.train, step, step);
  EXPECT_EQ(goal_text(plots), "mean reward 3.0000 in the last step, 1.0000 in the first");
}

TEST(LmPageTest, AModelThatBeginsWithALowLossHasRoomForItsCurves) {
  LmPlots tuned = sample_plots();
  for (double& loss : tuned.train_loss.y)
    loss = 2.0;
  const std::string html = page_of(tuned);
  EXPECT_THAT(html, AllOf(HasSubstr("ln 528 = 6.269"), Not(HasSubstr("6.269  a guess"))));
}

TEST(LmPageTest, EveryChartIsWellFormed) {
  for (const LmPlots& plots : {sample_plots(), student_plots()})
    for (const std::string& chart : report::charts_in(page_of(plots)))
      EXPECT_EQ(report::malformed(chart), "");
}

TEST(LmPageTest, ShowsTextsOfTheModel) {
  LmPlots plots = sample_plots();
  EXPECT_THAT(page_of(plots), Not(HasSubstr("Texts of the model")));
  plots.samples = {{"3 + 4 =", " 7", "<b> 8", -0.25}};
  EXPECT_THAT(page_of(plots), AllOf(HasSubstr("after prompts of the training data"),
                                    HasSubstr("&lt;b&gt; 8"), HasSubstr("-0.25 nats")));
  plots.samples.push_back({"Spell cat:", " c a t", "", -0.1});
  EXPECT_THAT(page_of(plots), HasSubstr("(ends at once)"));
  plots.samples_are_held_out = true;
  EXPECT_THAT(page_of(plots), HasSubstr("after prompts of data.eval_path"));
}

TEST(LmPageTest, ShowsAnswersBeforeAndAfterSideBySide) {
  LmPlots plots = sample_plots();
  plots.samples = {{"3 + 4 =", "7", " 7", -0.25, " <8>"}, {"1 + 1 =", "2", " 2", -0.5, ""}};
  const std::string html = page_of(plots);

  EXPECT_THAT(html, HasSubstr("Answers before and after the training, to prompts of the training"));
  EXPECT_THAT(html, Not(HasSubstr("the model, greedily")));
  EXPECT_LT(html.find(" &lt;8&gt;</td>"), html.find(" 7</td>"));
  EXPECT_THAT(html, HasSubstr("(ends at once)"));
}

TEST(LmPageTest, ALossOverMoreThanADecadeHasALogarithmicAxis) {
  const std::string words = "The axis is logarithmic.";
  EXPECT_THAT(page_of(sample_plots()), HasSubstr(words));
  LmPlots slow = sample_plots();
  for (double& loss : slow.train_loss.y)
    loss += 0.5;
  EXPECT_THAT(page_of(slow), Not(HasSubstr(words)));
}

TEST(LmPageTest, ACaptionCountsTheStepsOfAPoint) {
  EXPECT_THAT(page_of(sample_plots()), HasSubstr("Each point is the mean of 2 steps"));
  LmPlots more = sample_plots();
  more.train_loss.x.pop_back();
  more.train_loss.y.pop_back();
  EXPECT_THAT(page_of(more), HasSubstr("Each point is the mean of 1 or 2 steps"));
}

}  // namespace
}  // namespace mgpu::recipes
