#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "jobs/classify/page.hpp"
#include "report/well_formed.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ClassifyPlots plots() {
  ClassifyPlots plots;
  plots.labels = {"ham", "spam"};
  plots.positive = "spam";
  plots.confusion = {90, 10, 0, 3, 1230, 0};
  plots.outcomes = {{"ok", 1333}};
  plots.rows = plots.judged = 1333;
  plots.metrics = {{"accuracy", "accuracy", 0.99},
                   {"roc_auc", "area under the ROC curve", 0.9876},
                   {"calibration_error", "expected calibration error", 0.0123}};
  plots.has_probabilities = true;
  plots.roc = {{0.0, 0.0, 1.0}, {0.0, 0.9, 1.0}};
  plots.calibration = {{0.55, 0.97}, {0.5, 0.99}};
  plots.calibration_rows = {4, 1329};
  plots.calibration_low = {0.15, 0.98};
  plots.calibration_high = {0.85, 1.0};
  plots.positive_scores.assign(20, 0);
  plots.positive_scores[19] = 1230;
  plots.other_scores.assign(20, 0);
  plots.other_scores[0] = 90;
  plots.groups = {{"north", 50, {0.9, 0.79, 0.96, true}, {0.1, 0.04, 0.21, true}, {}, false}};
  plots.mistakes = {{"<script>free</script>", "ham", "spam", 0.9991}};
  plots.samples_per_second = {700.0};
  plots.total_samples_per_second = 700.0;
  plots.runs = {{2, 1, 16, 700.0, true}};
  plots.run_key = 4000000000U;
  return plots;
}

std::string html_of(const ClassifyPlots& plots, report::RunSummary summary = {}) {
  const ClassifyPage page(plots);
  page.record(summary);
  return report::html_page(page.page(summary), summary);
}

TEST(ClassifyPageTest, HasEachPictureAndAllAreWellFormed) {
  const std::string html = html_of(plots());

  for (const char* title : {"Confusion", "ROC curve of spam", "Calibration",
                            "Distribution of scores", "Errors of each group"})
    EXPECT_THAT(html, HasSubstr("<h3>" + std::string(title) + "</h3>"));
  EXPECT_THAT(html, HasSubstr("area 0.9876"));
  EXPECT_THAT(html, HasSubstr("expected error 0.0123"));
  EXPECT_THAT(html, HasSubstr("4 rows: probability 0.550, right 0.500"));
  const std::vector<std::string> found = report::charts_in(html);
  EXPECT_EQ(found.size(), 5U);
  for (const std::string& picture : found)
    EXPECT_EQ(report::malformed(picture), "");
}

TEST(ClassifyPageTest, EachPointOfTheCalibrationCountsItsRows) {
  const std::string html = html_of(plots());

  EXPECT_THAT(html, HasSubstr("class=\"rows\""));
  EXPECT_THAT(html, HasSubstr(">4</text>"));
  EXPECT_THAT(html, HasSubstr(">1,329</text>"));
  EXPECT_THAT(html, HasSubstr("The number at a point counts its rows."));
}

TEST(ClassifyPageTest, TheConfusionHasUnknownOnlyWhereItWasGiven) {
  EXPECT_THAT(html_of(plots()), Not(HasSubstr(">unknown</text>")));
  ClassifyPlots unknown = plots();
  unknown.confusion[2] = 7;
  EXPECT_THAT(html_of(unknown), HasSubstr(">unknown</text>"));
  EXPECT_THAT(html_of(plots()), HasSubstr(">99.8 %</text>"));  // 1230 of 1233
}

TEST(ClassifyPageTest, ManyLabelsHaveATableInsteadOfAPicture) {
  ClassifyPlots many = plots();
  many.labels.assign(11, "x");
  many.confusion.assign(11U * 12U, 1);
  const std::string html = html_of(many);

  EXPECT_THAT(html, Not(HasSubstr("<h3>Confusion</h3>")));
  EXPECT_THAT(html, HasSubstr("Confusion: true labels down"));
}

TEST(ClassifyPageTest, ARateOfNoRowsSaysSo) {
  const std::string html = html_of(plots());

  EXPECT_THAT(html, HasSubstr(">no such rows</text>"));
  EXPECT_THAT(html, HasSubstr("10.0 % (4.0 % to 21.0 %)"));  // the error rate, 1 - accuracy
}

TEST(ClassifyPageTest, ManyGroupsAreClippedWithWords) {
  ClassifyPlots many = plots();
  many.groups.assign(50, many.groups.front());
  EXPECT_THAT(html_of(many), HasSubstr("The first 40 of 50 groups are drawn"));
}

TEST(ClassifyPageTest, GeneratedAnswersHaveNoScoresAndThePageSaysSo) {
  ClassifyPlots generated = plots();
  generated.has_probabilities = false;
  generated.roc = {};
  generated.calibration = {};
  generated.positive_scores.clear();
  generated.other_scores.clear();
  generated.mistakes[0].confidence = -3.5;
  const std::string html = html_of(generated);

  EXPECT_THAT(html, HasSubstr("there is no ROC curve, no calibration"));
  EXPECT_THAT(html, Not(HasSubstr("<h3>Calibration</h3>")));
  EXPECT_THAT(html, HasSubstr("log-probability of the answer"));
  EXPECT_THAT(html, HasSubstr("<h3>Confusion</h3>"));
}

TEST(ClassifyPageTest, TextsAndLabelsStayText) {
  ClassifyPlots hostile = plots();
  hostile.labels[0] = "<img src=x>";
  hostile.positive = "a\"b<i>";
  hostile.groups[0].name = "</svg><script>";
  const std::string html = html_of(hostile);

  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<i>")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;free"));
  for (const std::string& picture : report::charts_in(html))
    EXPECT_EQ(report::malformed(picture), "");
}

TEST(ClassifyPageTest, ThereIsNoChartOfOneBar) {
  EXPECT_THAT(html_of(plots()), Not(HasSubstr("<h3>Samples per second")));
  ClassifyPlots two = plots();
  two.samples_per_second = {300.0, 400.0};
  EXPECT_THAT(html_of(two), HasSubstr("<h3>Samples per second of each copy of the model</h3>"));
}

/// Returns the plots of a run with three labels. It has no positive label (has_positive).
ClassifyPlots three_labels() {
  ClassifyPlots three = plots();
  three.labels = {"a", "b", "c"};
  three.positive = "c";
  three.confusion = {8, 1, 1, 0, 2, 8, 0, 0, 0, 0, 30, 0};
  three.has_positive = false;
  const report::Curve roc{{0.0, 0.0, 1.0}, {0.0, 0.5, 1.0}};
  three.by_label = {
      {"a", 10, {0.8, 0.49, 0.94, true}, {0.8, 0.49, 0.94, true}, 0.8, true, roc, 0.7},
      {"b", 10, {}, {0.8, 0.49, 0.94, true}, 0.8, true, roc, 0.6},
      {"c", 30, {0.96, 0.8, 1.0, true}, {1.0, 0.88, 1.0, true}, 0.98, true, roc, 0.9}};
  return three;
}

TEST(ClassifyPageTest, ThreeLabelsHaveARowAndACurveEach) {
  const std::string html = html_of(three_labels());
  for (const char* label : {"a", "b", "c"})
    EXPECT_THAT(html, HasSubstr("<h3>ROC curve of " + std::string(label) + "</h3>"));
  EXPECT_THAT(html, HasSubstr("area 0.7000"));
  EXPECT_THAT(html, HasSubstr("Each label, with 95 % intervals (Wilson)"));
  EXPECT_THAT(html, HasSubstr("<td>0.800 (0.490 to 0.940)</td>"));
  EXPECT_THAT(html, HasSubstr("<td>30</td>"));
  EXPECT_THAT(html, Not(HasSubstr("Distribution of scores")));
  for (const std::string& picture : report::charts_in(html))
    EXPECT_EQ(report::malformed(picture), "");
}

TEST(ClassifyPageTest, AGroupWhoseIntervalCrossesTheThresholdIsNotDecided) {
  ClassifyPlots groups = plots();
  const ShownRate low{0.1, 0.05, 0.15, true};
  const ShownRate high{0.4, 0.3, 0.5, true};
  const ShownRate crosses{0.1, 0.01, 0.21, true};
  const auto fair = [&](const ShownRate& positive, const ShownRate& negative) {
    groups.groups = {{"g", 50, low, positive, negative, true}};
    const std::string html = html_of(groups);
    const std::size_t end = html.find("</td></tr>", html.find("<td>g</td>"));
    return html.substr(html.rfind("<td>", end) + 4, end - html.rfind("<td>", end) - 4);
  };
  EXPECT_EQ(fair(low, low), "yes");
  EXPECT_EQ(fair(low, crosses), "not decided");
  EXPECT_EQ(fair(crosses, high), "no");
  EXPECT_EQ(fair(low, {}), "not decided");  // no such rows
}

TEST(ClassifyPageTest, EarlierRunsStandBesideThisOne) {
  ClassifyPlots more = plots();
  more.runs.insert(more.runs.begin(), {1, 1, 4, 300.0, false});
  more.runs.push_back({4, 2, 16, 900.0, false});
  const std::string html = html_of(more);
  EXPECT_THAT(html, HasSubstr("1 rank, batch 4"));
  EXPECT_THAT(html, HasSubstr("2 ranks, batch 16"));
  EXPECT_THAT(html, HasSubstr("4 ranks by 2, batch 16"));
}

TEST(ClassifyPageTest, TheSummaryHasWhatALaterRunCompares) {
  report::RunSummary summary;
  ClassifyPage(plots()).record(summary);

  EXPECT_THAT(summary.series["speed/run_key"], ElementsAre(4000000000.0));
  EXPECT_THAT(summary.series["speed/ranks"], ElementsAre(2.0));
  EXPECT_THAT(summary.series["speed/batch"], ElementsAre(16.0));
  EXPECT_THAT(summary.series["speed/samples_per_second"], ElementsAre(700.0));
  EXPECT_THAT(summary.series["roc/true_positive_rate"], ElementsAre(0.0, 0.9, 1.0));
}

TEST(ClassifyPageTest, RunsWithoutTruthAndWithoutRowsHaveAPage) {
  ClassifyPlots blind;
  blind.labels = {"ham", "spam"};
  blind.positive = "spam";
  blind.confusion.assign(6, 0);
  blind.rows = 3;
  blind.has_probabilities = true;
  const std::string html = html_of(blind);
  EXPECT_THAT(html, HasSubstr("3 texts were classified."));
  EXPECT_THAT(html, HasSubstr("No row has a true label"));
  EXPECT_TRUE(report::charts_in(html).empty());

  blind.rows = 0;
  EXPECT_THAT(html_of(blind), Not(HasSubstr("nan")));
}

TEST(ClassifyPageTest, OneRowHasAPage) {
  ClassifyPlots one = plots();
  one.rows = one.judged = 1;
  one.confusion = {0, 0, 0, 0, 1, 0};
  one.roc = {};
  one.calibration = {{0.9}, {1.0}};
  one.calibration_rows = {1};
  one.calibration_low = {0.2};
  one.calibration_high = {1.0};
  one.positive_scores.assign(20, 0);
  one.positive_scores[18] = 1;
  one.other_scores.assign(20, 0);
  one.groups.clear();
  one.mistakes.clear();
  const std::string html = html_of(one);

  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_THAT(html, Not(HasSubstr("inf")));
  EXPECT_THAT(html, Not(HasSubstr("<h3>ROC curve")));
  EXPECT_THAT(html, HasSubstr("<h3>Calibration</h3>"));
  EXPECT_THAT(html, Not(HasSubstr("The most confident mistakes")));
  for (const std::string& picture : report::charts_in(html))
    EXPECT_EQ(report::malformed(picture), "");
}

}  // namespace
}  // namespace mgpu::jobs
