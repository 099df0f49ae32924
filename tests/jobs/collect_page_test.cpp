// Tests report.html of job collect.
#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "jobs/collect/page.hpp"
#include "jobs/collect/tree_figure.hpp"

namespace mgpu::jobs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

CollectPlots::Shown shown() {
  ReadPath right{true, "3", {{"a <b>\n", 0.25, 0.15, 8, 2}, {"c", 1.0, 0.0, 1, 1}}};
  ReadPath wrong{false, "", {{"d", 0.0, 0.0, 1, 0}}};
  return {"hardest", 7, {"1 + 2 =", {right, wrong}}};
}

/// Returns the titles of the figures that are not empty.
std::vector<std::string> titles_of(const report::Section& section) {
  std::vector<std::string> titles;
  for (const report::Figure& figure : section.figures)
    if (!figure.svg.empty()) titles.push_back(figure.title);
  return titles;
}

std::size_t count_of(const std::string& part, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(CollectPageTest, ATreeHasACellForEachStep) {
  const std::string html = html_step_tree(shown());
  EXPECT_THAT(html, HasSubstr("Path 0, step 1: value 0.25, 2 of 8 answers are right (+- 0.15)"));
  EXPECT_THAT(html, HasSubstr("a &lt;b&gt;"));
  EXPECT_THAT(html, HasSubstr("<td>right</td></tr>"));
  EXPECT_THAT(html, HasSubstr("<td></td><td>wrong</td></tr>"));
  EXPECT_THAT(html, Not(HasSubstr("step 3")));
  EXPECT_EQ(count_of("tabindex=\"0\"", html), 3U);  // each cell can have the focus
  EXPECT_THAT(html, HasSubstr("<span class=\"t e2\""));
}

TEST(CollectPageTest, LongTreesAreCut) {
  CollectPlots::Shown many = shown();
  many.tree.paths.assign(40, many.tree.paths.front());
  many.tree.paths.front().steps.assign(40, many.tree.paths.front().steps.front());
  const std::string html = html_step_tree(many);
  EXPECT_THAT(html, HasSubstr("path 15"));
  EXPECT_THAT(html, Not(HasSubstr("path 16")));
  EXPECT_THAT(html, HasSubstr("step 16"));
  EXPECT_THAT(html, Not(HasSubstr("step 17")));
  EXPECT_THAT(html, HasSubstr("... right"));
}

TEST(CollectPageTest, ChartsCountAllSteps) {
  CollectPlots plots;
  plots.add(shown().tree, 2);
  EXPECT_THAT(plots.percents, ElementsAre(25, 100, 0));
  EXPECT_THAT(plots.sums_at, ElementsAre(0.25, 1.0));
  EXPECT_THAT(plots.counts_at, ElementsAre(2, 1));
  plots.shown = {shown()};
  plots.paths = 2;
  plots.questions = 1;
  plots.steps = 3;
  plots.questions_of_copies = {1, 0};
  const CollectPage page(plots);
  report::RunSummary summary;
  page.record(summary);
  EXPECT_THAT(summary.series.at("value_by_step"), ElementsAre(0.125, 1.0));
  const report::HtmlPage html = page.page(summary);
  EXPECT_EQ(html.headline, "2 solutions of 1 question have values for 3 steps.");
  ASSERT_EQ(html.sections.size(), 2U);
  EXPECT_THAT(html.sections[1].figures[0].title, HasSubstr("The hardest question: 7"));
  EXPECT_THAT(titles_of(html.sections[0]), ElementsAre("Values of the steps", "Mean value by step",
                                                       "Right answers by number of solutions",
                                                       "Questions of each copy of the model"));
}

// A question with answers 3 (right), 4, 3 and none.
ReadTree question_of_four() {
  const std::vector<ReadStep> steps(1);
  return {"1 + 2 =",
          {{true, "3", steps}, {false, "4", steps}, {true, "3", steps}, {false, "", steps}}};
}

TEST(CollectPageTest, ChoicesAreThoseOfTheFirstSolutions) {
  CollectPlots plots;
  plots.add(question_of_four(), 4);
  EXPECT_THAT(plots.shares, ElementsAre(0.5));
  EXPECT_THAT(plots.choices.at(1).vote, ElementsAre(1.0));
  EXPECT_THAT(plots.choices.at(2).vote, ElementsAre(0.0));  // as many votes for 3 as for 4
  EXPECT_THAT(plots.choices.at(4).vote, ElementsAre(1.0));
  EXPECT_THAT(plots.choices.at(1).oracle, ElementsAre(1.0));
  EXPECT_THAT(plots.choices.at(2).oracle, ElementsAre(1.0));
  EXPECT_THAT(plots.choices.at(4).oracle, ElementsAre(1.0));
  plots.add(question_of_four(), 2);  // the last two paths are rollouts
  EXPECT_THAT(plots.shares, ElementsAre(0.5, 0.5));
  EXPECT_THAT(plots.choices.at(2).vote, ElementsAre(0.0, 0.0));
  EXPECT_EQ(plots.choices.at(4).vote.size(), 1U);
}

TEST(CollectPageTest, AnswersThatAreWrittenDifferentlyAreOneVote) {
  const std::vector<ReadStep> steps(1);
  CollectPlots plots;
  plots.add({"", {{true, "1,800", steps}, {false, "90", steps}, {true, "$1800", steps}}}, 3);
  EXPECT_THAT(plots.choices.at(3).vote, ElementsAre(1.0));
}

TEST(CollectPageTest, CalibrationComparesRolloutsWithTheirOwnPath) {
  const ReadTree tree{"",
                      {{true, "1", {{"", 0.5, 0.0, 5, 3}, {"", 1.0, 0.0, 1, 1}}},
                       {false, "2", {{"", 0.0, 0.0, 5, 0}, {"", 0.0, 0.0, 1, 0}}}}};
  CollectPlots plots;
  plots.add_rollouts(tree, StepLabel::monte_carlo);  // 2 of 4 rollouts, and 0 of 4
  EXPECT_EQ(plots.bins[5].steps, 1);
  EXPECT_EQ(plots.bins[5].right, 1);
  EXPECT_EQ(plots.bins[5].shares, 0.5);
  EXPECT_EQ(plots.bins[0].steps, 1);
  EXPECT_EQ(plots.bins[0].right, 0);
  CollectPlots others;
  others.add_rollouts(tree, StepLabel::math_shepherd_soft);  // 3 of 5 rollouts, and 0 of 5
  EXPECT_EQ(others.bins[6].shares, 0.6);
  others.paths = 2;
  EXPECT_THAT(titles_of(CollectPage(others).page({}).sections[0]), Contains("Calibration"));
}

TEST(CollectPageTest, WithoutSolutionsThereAreNoCharts) {
  const CollectPage page(CollectPlots{});
  report::RunSummary summary;
  page.record(summary);
  EXPECT_TRUE(summary.series.empty());
  EXPECT_EQ(page.page(summary).sections.size(), 1U);
}

}  // namespace
}  // namespace mgpu::jobs
