#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "report/well_formed.hpp"
#include "sample_run.hpp"

namespace mgpu::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HtmlReportTest, EveryPictureIsWellFormed) {
  const std::string html = sample_html(sample_run());

  const std::vector<std::string> plots = charts_in(html);

  EXPECT_EQ(plots.size(), 1U + 16U + 2U + 1U);  // returns, walks, loss and return, time line
  for (const std::string& picture : plots)
    EXPECT_EQ(malformed(picture), "");
  EXPECT_NE(malformed("<svg><g></svg>"), "");
  EXPECT_NE(malformed("<svg>a & b</svg>"), "");
}

TEST(HtmlReportTest, FetchesNothingAndRunsNothing) {
  const std::string html = sample_html(sample_run());
  for (const char* word : {"http:", "https:", "<script", "@import", "url(", "src=", "href="})
    EXPECT_THAT(html, Not(HasSubstr(word)));
  // The browser has to refuse what a text might smuggle in.
  EXPECT_THAT(html, HasSubstr("<meta http-equiv=\"Content-Security-Policy\" "
                              "content=\"default-src 'none'; style-src 'unsafe-inline'; "));
}

TEST(HtmlReportTest, StaysBelowTwoMebibytesWithManyRanks) {
  SampleRun run = sample_run(64);
  for (int i = 0; i < 50000; ++i) {
    run.plots.train_loss.x.push_back(3000 + i);
    run.plots.train_loss.y.push_back(0.4);
  }
  EXPECT_LT(sample_html(run).size(), std::size_t{2} << 20);
}

TEST(HtmlReportTest, MarkedNumbersAreThoseOfTheSummary) {
  const SampleRun run = sample_run();
  const std::string html = sample_html(run);
  const auto summary = nlohmann::json::parse(summary_json(run.summary));
  static const std::regex mark(R"re(data-key="([^"]+)"[^>]*>(-?[0-9][0-9,]*)(\.[0-9]+)?( %)?)re");

  int seen = 0;
  for (std::sregex_iterator it(html.begin(), html.end(), mark), end; it != end; ++it, ++seen) {
    const std::smatch& match = *it;
    const std::string key = match[1];
    const bool share = key.ends_with("/share");
    const double expected =
        summary.at(nlohmann::json::json_pointer(key)).get<double>() * (share ? 100.0 : 1.0);
    std::string digits = match[2].str() + match[3].str();
    std::erase(digits, ',');
    const double shown = std::stod(digits);
    const auto decimals = match[3].matched ? match[3].length() - 1 : 0;
    EXPECT_LE(std::fabs(shown - expected), 0.5 * std::pow(10.0, -decimals) + 1e-9) << key;
    EXPECT_EQ(share, share && match[4].matched) << key;
  }

  int marks = 0;
  for (std::size_t at = html.find("data-key="); at != std::string::npos;
       at = html.find("data-key=", at + 1))
    ++marks;
  EXPECT_EQ(seen, marks) << "a marked text does not start with a number";
  EXPECT_GT(seen, 50);
}

TEST(HtmlReportTest, NumbersKeepTheirUnits) {
  SampleRun run = sample_run();
  run.summary.results.push_back({"rate", "of training", 29265.7, "tokens/s", 1});
  const std::string html = sample_html(run);

  EXPECT_THAT(html, HasSubstr(">29,266 tokens/s</td>"));
  EXPECT_THAT(html, HasSubstr("td:not(:first-child) { white-space:nowrap; }"));
  EXPECT_THAT(html, HasSubstr("<small>%</small>"));
  EXPECT_THAT(html, HasSubstr("\u00a0% of the best possible"));
}

TEST(HtmlReportTest, LargeNumbersAreGroupedAndHaveFewDecimals) {
  const auto text = [](double value, int decimals) {
    return Result{"key", "label", value, "", decimals}.text();
  };
  EXPECT_EQ(text(6945.4223, 3), "6,945");
  EXPECT_EQ(text(322.29, 2), "322.3");
  EXPECT_EQ(text(49.6123, 3), "49.612");
  EXPECT_EQ(text(-1234567.0, 0), "-1,234,567");
  EXPECT_EQ(text(7238.0, 0), "7,238");
}

TEST(HtmlReportTest, ChartsThatAreCutOnANarrowScreenSayThatTheyScroll) {
  EXPECT_THAT(sample_html(sample_run()), HasSubstr("scroll the chart sideways"));
}

TEST(HtmlReportTest, ALoneChartDoesNotFillTwoColumns) {
  EXPECT_THAT(sample_html(sample_run()),
              HasSubstr(".side { display:grid; grid-template-columns:repeat(auto-fill,"));
}

TEST(HtmlReportTest, EachCurveOverEpisodesHasItsBand) {
  SampleRun run = sample_run();
  const auto bands = [](const std::string& html) {
    std::size_t count = 0;
    for (std::size_t at = html.find(" band\""); at != std::string::npos;
         at = html.find(" band\"", at + 1))
      ++count;
    return count;
  };
  const std::size_t before = bands(sample_html(run));
  auto& episodes = run.plots.episodes;
  episodes.source_band = {episodes.source, episodes.source};
  episodes.hide_rewards_band = {episodes.hide_rewards, episodes.hide_rewards};
  episodes.clear_context_band = {episodes.clear_context, episodes.clear_context};

  EXPECT_EQ(bands(sample_html(run)), before + 3);
  EXPECT_THAT(sample_html(run), HasSubstr("Of the early weights only the means are kept."));
}

TEST(HtmlReportTest, TheOrderIsResultPicturesMachineNotesProvenanceTables) {
  const std::string html = sample_html(sample_run());
  std::size_t last = 0;
  for (const char* part :
       {"<h1>", "class=\"tiles\"", "Learning inside the context", "How it was trained",
        "Where the time went", "<h2>Notes", "<h2>Provenance", "<h2>Tables"}) {
    const std::size_t at = html.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    EXPECT_GT(at, last) << part;
    last = at;
  }
}

TEST(HtmlReportTest, ForeignTextStaysText) {
  SampleRun run = sample_run();
  run.summary.name = "<script>alert('x')</script>";
  run.summary.notes = {{"<b>", "\"key\"", "&"}};
  const std::string html = sample_html(run);

  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)"));
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;. &amp;."));
}

TEST(HtmlReportTest, SecretsDoNotAppear) {
  EXPECT_THAT(sample_html(sample_run()), Not(HasSubstr("hf_secret")));
}

TEST(HtmlReportTest, ARunThatWasStoppedEarlyHasAPageToo) {
  SampleRun run;
  run.summary.name = "train_ad";
  run.summary.outcome = Outcome::stopped;
  run.summary.done = 12;
  run.summary.total = 50;
  const std::string html = sample_html(run);

  EXPECT_THAT(html, HasSubstr("<h1>train_ad stopped after 12 of 50 steps.</h1>"));
  EXPECT_THAT(html, HasSubstr("status stopped"));
  EXPECT_TRUE(charts_in(html).empty());
}

TEST(HtmlReportTest, GpusGetAMemoryPicture) {
  SampleRun run = sample_run(2);
  run.summary.gpus = {{0, "n1", 1ULL << 30, 2ULL << 30, 80ULL << 30}};
  const std::string html = sample_html(run);

  EXPECT_THAT(html, HasSubstr("1.0 allocated, 2.0 reserved of 80.0 GiB"));
  for (const std::string& picture : charts_in(html))
    EXPECT_EQ(malformed(picture), "");
}

TEST(HtmlReportTest, CaptionsNameTheEnvironmentsStepsAndActions) {
  SampleRun run = sample_run();
  EXPECT_THAT(sample_html(run), HasSubstr("A guess costs ln 5 = 1.609."));
  run.plots.horizon = 12;
  run.plots.num_actions = 3;
  const std::string html = sample_html(run);

  EXPECT_THAT(html, HasSubstr("A guess costs ln 3 = 1.099."));
  EXPECT_THAT(html, HasSubstr("goal, of 12."));
}

TEST(TrainHeadlineTest, SaysWhatHappened) {
  recipes::AdPlots plots;
  plots.episodes.late = {3.0, 9.0, 14.66};
  plots.episodes.optimum = 17.25;
  EXPECT_EQ(recipes::ad_headline(plots, {}),
            "On goals it never saw, the agent\u2019s return rises from 3.0 in its first episode to "
            "14.7 in its third, with frozen weights: 85 % of the best possible.");
}

TEST(TrainHeadlineTest, DoesNotPraiseAFlatCurve) {
  recipes::AdPlots plots;
  plots.episodes.late = {1.2, 1.5};
  plots.episodes.optimum = 17.25;
  EXPECT_THAT(recipes::ad_headline(plots, {}), HasSubstr("does not yet learn inside its context"));
  plots.episodes.late = {16.0, 1.0};
  EXPECT_THAT(recipes::ad_headline(plots, {}), HasSubstr("does not yet learn"));
}

}  // namespace
}  // namespace mgpu::report
