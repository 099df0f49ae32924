// Tests report.html of job collect.
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "jobs/collect/page.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

CollectPlots::Shown shown() {
  ReadPath right{true, "3", {{"a <b>\n", 0.25, 0.15, 8, 2}, {"c", 1.0, 0.0, 1, 1}}};
  ReadPath wrong{false, "", {{"d", 0.0, 0.0, 1, 0}}};
  return {"hardest", 7, {"1 + 2 =", {right, wrong}}};
}

TEST(CollectPageTest, ATreeHasAFieldForEachStep) {
  const std::string svg = svg_step_tree(shown());
  EXPECT_THAT(svg, HasSubstr("path 0, step 1: value 0.25, 2 of 8 answers are right (+- 0.15)"));
  EXPECT_THAT(svg, HasSubstr("a &lt;b&gt;"));
  EXPECT_THAT(svg, HasSubstr(">right<"));
  EXPECT_THAT(svg, HasSubstr(">wrong<"));
  EXPECT_THAT(svg, Not(HasSubstr("step 3")));
  std::size_t fields = 0;
  for (std::size_t at = svg.find("<rect"); at != std::string::npos; at = svg.find("<rect", at + 1))
    ++fields;
  EXPECT_EQ(fields, 3U);
}

TEST(CollectPageTest, LongTreesAreCut) {
  CollectPlots::Shown many = shown();
  many.tree.paths.assign(40, many.tree.paths.front());
  many.tree.paths.front().steps.assign(40, many.tree.paths.front().steps.front());
  const std::string svg = svg_step_tree(many);
  EXPECT_THAT(svg, HasSubstr("path 15"));
  EXPECT_THAT(svg, Not(HasSubstr("path 16")));
  EXPECT_THAT(svg, HasSubstr("... right"));
}

TEST(CollectPageTest, ChartsCountAllSteps) {
  CollectPlots plots;
  plots.add(shown().tree);
  EXPECT_THAT(plots.percents, ElementsAre(25, 100, 0));
  EXPECT_THAT(plots.sums_at, ElementsAre(0.25, 1.0));
  EXPECT_THAT(plots.counts_at, ElementsAre(2, 1));
  plots.shown = {shown()};
  plots.paths = 2;
  plots.questions = 1;
  plots.steps = 3;
  const CollectPage page(plots);
  report::RunSummary summary;
  page.record(summary);
  EXPECT_THAT(summary.series.at("value_by_step"), ElementsAre(0.125, 1.0));
  const report::HtmlPage html = page.page(summary);
  EXPECT_EQ(html.headline, "2 solutions of 1 question have values for 3 steps.");
  EXPECT_EQ(html.sections.size(), 2U);
  EXPECT_THAT(html.sections[1].figures[0].title, HasSubstr("The hardest question: 7"));
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
