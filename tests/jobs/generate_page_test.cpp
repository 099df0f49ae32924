#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/report/svg_bars.hpp>

#include "jobs/generate/page.hpp"

namespace mgpu::jobs {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> labels_and_counts(const std::vector<std::int64_t>& values, int count) {
  std::vector<std::string> texts;
  for (const report::BarChart::Bar& bar : report::histogram(values, count))
    texts.push_back(bar.label + ":" + std::to_string(static_cast<int>(bar.value)));
  return texts;
}

TEST(HistogramTest, CountsInRoundClasses) {
  EXPECT_THAT(labels_and_counts({3, 4, 4, 6}, 10),
              testing::ElementsAre("3:1", "4:2", "5:0", "6:1"));
  EXPECT_THAT(labels_and_counts({0, 9, 10, 49}, 10),
              testing::ElementsAre("0:1", "5:1", "10:1", "15:0", "20:0", "25:0", "30:0", "35:0",
                                   "40:0", "45:1"));
  EXPECT_THAT(labels_and_counts({}, 10), testing::IsEmpty());
  EXPECT_LE(report::histogram({1, 1000003}, 30).size(), 31U);
}

TEST(SvgBarsTest, DrawsABarForEachValueAndNothingForOne) {
  report::BarChart chart;
  chart.title = "lengths <of> rows";
  chart.bars = {{"1", 2.0}, {"2", 0.0}, {"3", 4.0}};

  const std::string svg = report::svg_bars(chart);

  EXPECT_THAT(svg, HasSubstr("lengths &lt;of&gt; rows"));
  EXPECT_THAT(svg, HasSubstr("c1 bar"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  chart.bars = {{"1", 0.0}, {"2", 0.0}};
  EXPECT_EQ(report::svg_bars(chart), "");
  chart.bars = {{"1", 5.0}};
  EXPECT_EQ(report::svg_bars(chart), "");
}

GeneratePlots plots() {
  GeneratePlots plots;
  plots.prompt_tokens = 20;
  plots.output_tokens = 1500;
  plots.finishes = {{"length", 1}, {"stop_token", 1}};
  plots.prompt_lengths = {10, 10};
  plots.output_lengths = {500, 1000};
  plots.tokens_per_second = {100.0, 120.0};
  plots.samples = {{"<script>", "an \x1b answer", "length"}};
  return plots;
}

TEST(GeneratePageTest, ShowsWhatCameOutAndEscapesIt) {
  report::RunSummary summary;
  summary.name = "tiny";
  const GeneratePage page(plots());
  page.record(summary);
  const std::string html = report::html_page(page.page(summary), summary);

  EXPECT_THAT(html, HasSubstr("2 completions with 1,500 tokens were generated."));
  EXPECT_THAT(html, HasSubstr("Ended by: length 1, stop_token 1."));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  ASSERT_EQ(summary.results.size(), 2U);
  EXPECT_EQ(summary.results[0].key, "finish_length");
}

TEST(GeneratePageTest, ShowsPassRatesWithIntervalsAndAnswers) {
  GeneratePlots plots = mgpu::jobs::plots();
  plots.evaluated_prompts = 50;
  plots.pass = {{{1, 2, 4}, {0.25, 0.5, 0.75}}, {0.1, 0.4, 0.7}, {0.4, 0.6, 0.8}};
  plots.majority = {{{2, 4}, {0.1, 0.3}}, {0.0, 0.2}, {0.2, 0.4}};
  plots.groups = {{"hard", "pass@4", {0.5, 0.125, 0.25, 0.75, 9}}};
  plots.samples.front().answer = "<b>";
  plots.samples.front().verdict = "wrong";
  report::RunSummary summary;
  summary.results = {{"pass_1", "pass@1", 0.25, "", 4, Estimate{0.25, 0.07, 0.1, 0.4, 50}},
                     {"pass_4", "pass@4", 0.75, "", 4, Estimate{0.75, 0.02, 0.7, 0.8, 50}},
                     {"maj_4", "maj@4", 0.3, "", 4, Estimate{0.3, 0.05, 0.2, 0.4, 50}}};
  const report::HtmlPage page = GeneratePage(plots).page(summary);
  ASSERT_EQ(page.tiles.size(), 2U);
  EXPECT_EQ(page.tiles[0].label, "pass@4, 95 % [0.7000, 0.8000]");
  const std::string html = report::html_page(page, summary);
  EXPECT_THAT(html, HasSubstr("95 % intervals over 50 prompts"));
  EXPECT_THAT(html, HasSubstr("data-key=\"/results/pass_4/value\""));
  EXPECT_THAT(html, HasSubstr("data-key=\"/results/maj_4/value\""));
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;"));
  EXPECT_THAT(html, HasSubstr("wrong"));
  EXPECT_THAT(html, HasSubstr("0.2500 to 0.7500"));
  EXPECT_THAT(report::html_page(GeneratePage(mgpu::jobs::plots()).page({}), {}),
              Not(HasSubstr("pass@k")));
}

TEST(GeneratePageTest, SearchesHaveCurvesNextToVoteAndBestChoice) {
  GeneratePlots plots = mgpu::jobs::plots();
  plots.evaluated_prompts = 50;
  plots.pass = {{{1, 2, 4}, {0.25, 0.5, 0.75}}, {0.1, 0.4, 0.7}, {0.4, 0.6, 0.8}};
  plots.majority = {{{2, 4}, {0.1, 0.3}}, {0.0, 0.2}, {0.2, 0.4}};
  plots.best = {{{2, 4}, {0.45, 0.625}}, {0.4, 0.6}, {0.5, 0.65}};
  plots.weighted = {{{2, 4}, {0.45, 0.6875}}, {0.4, 0.6}, {0.5, 0.7}};
  const std::string html = report::html_page(GeneratePage(plots).page({}), {});
  for (const char* text :
       {"0.750  pass@k", "0.300  maj@k", "0.625  best-of-k", "0.688  weighted vote",
        "/results/best_4/value", "/results/weighted_4/value", "best-of-k: 2, 0.45"})
    EXPECT_THAT(html, HasSubstr(text));
}

TEST(GeneratePageTest, CompletionsOfAPromptAreOneGroupWithTheirNumber) {
  GeneratePlots grouped = plots();
  grouped.num_samples = 4;
  grouped.settings = "sampling, temperature 0.9";
  grouped.samples = {{.prompt = "2 + 2 =", .output = "4", .reason = "length", .count = 3},
                     {.prompt = "2 + 2 =", .output = "5", .reason = "length", .count = 1},
                     {.prompt = "1 + 1 =", .output = "2", .reason = "length", .count = 4}};
  report::RunSummary summary;
  const report::HtmlPage page = GeneratePage(grouped).page(summary);

  const report::Table& table = page.sections.at(0).tables.back();
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[0][0], "2 + 2 =");
  EXPECT_EQ(table.rows[0][2], "3 of 4");
  EXPECT_EQ(table.rows[1][0], "") << "the prompt of the row above";
  EXPECT_EQ(table.rows[2][0], "1 + 1 =");
  EXPECT_EQ(page.tables.at(0).rows.at(0).at(1), "sampling, temperature 0.9");
}

TEST(GeneratePageTest, TheCompletionsComeBeforeFactsOfTheMachine) {
  report::RunSummary summary;
  report::HtmlPage page = GeneratePage(plots()).page(summary);
  page.provenance = {{"command", "mgpu_spmd"}};
  const std::string html = report::html_page(page, summary);

  EXPECT_LT(html.find("Completions of the first prompts"), html.find("<h2>Provenance"));
}

TEST(GeneratePageTest, SaysWhenPromptsWereOnlyScored) {
  GeneratePlots scored = plots();
  scored.is_scoring_only = true;
  report::RunSummary summary;

  EXPECT_EQ(GeneratePage(scored).page(summary).headline, "20 tokens of 2 prompts were scored.");
}

}  // namespace
}  // namespace mgpu::jobs
