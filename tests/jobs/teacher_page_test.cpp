#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "jobs/teacher/page.hpp"
#include "report/well_formed.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ShownToken token(const std::string& text, double entropy) {
  ShownToken token;
  token.text = text;
  token.entropy = entropy;
  token.probability = 0.25;
  token.place = 2;
  token.best = {{" the", 0.5}, {text, 0.25}};
  token.rest = 0.25;
  return token;
}

TeacherPlots plots() {
  TeacherPlots plots;
  plots.statuses = {{"ok", 2}, {"truncated", 1}};
  plots.tokens = 30;
  plots.tokens_left_out = 12;
  plots.longest = 16;
  plots.max_length = 16;
  plots.lengths = {4, 10, 28};
  plots.is_cut = {0, 0, 1};
  plots.samples = 3;
  plots.tokens_per_second = {100.0, 120.0};
  plots.entropy_of = "the 4 most probable tokens";
  plots.texts = {{7, 0, 3, {token("a", -1.0), token(" <b>", 0.5), token("", 2.0)}}};
  plots.mass = {{{1, 0.5, 0.2, 14, 11}, {2, 0.75, 0.4, 20, 13}, {4, 0.9, 0.6, 32, 18}}, 30};
  plots.ranks = {4, 8, false, {{0, 0, 2, 0, 8, 3.0, 1.0, 0.0}, {0, 2, 4, 0, 8, 2.0, 2.0, 0.0}}};
  return plots;
}

std::string html_of(const TeacherPlots& plots, report::RunSummary summary = {}) {
  const TeacherPage page(plots);
  page.record(summary);
  return report::html_page(page.page(summary), summary);
}

TEST(TeacherPageTest, ColorsTokensByEntropyAndSaysWhatWasExpected) {
  const std::string html = html_of(plots());

  EXPECT_THAT(html, HasSubstr("Row 7"));
  EXPECT_THAT(html, HasSubstr("class=\"t e0\""));  // the first token: nothing came before
  EXPECT_THAT(html, HasSubstr("class=\"t e2\""));  // a quarter of the largest
  EXPECT_THAT(html, HasSubstr("class=\"t e8\""));
  EXPECT_THAT(html, HasSubstr("nothing came before it."));
  EXPECT_THAT(html, HasSubstr("Entropy 0.50 nats, as unsure as between 1.6 equal ones."));
  EXPECT_THAT(html, HasSubstr("\u201C\u2423the\u201D\u00A050\u00A0%"));
  EXPECT_THAT(html, HasSubstr("made of the 4 most probable tokens."));
  EXPECT_THAT(html, HasSubstr(">\u25E6</span>"));  // not a complete character
}

TEST(TeacherPageTest, TokensStayText) {
  TeacherPlots hostile = plots();
  hostile.texts[0].shown = {token("\"><script>alert('x')</script>\n", 1.0), token("\x1b\xff", 0.0)};
  hostile.texts[0].shown[0].best = {{"\" onmouseover=\"x", 1.0}};
  const std::string html = html_of(hostile);

  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("\" onmouseover")));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(html, HasSubstr("\u21B5"));
}

TEST(TeacherPageTest, PromptsAndCutTextsAreMarked) {
  TeacherPlots cut = plots();
  cut.texts[0].first = 5;
  cut.texts[0].tokens = 100;
  cut.texts[0].shown[1].is_learned = false;
  const std::string html = html_of(cut);

  EXPECT_THAT(html, HasSubstr("Row 7, tokens 5 to 7 of 100"));
  EXPECT_THAT(html, HasSubstr("class=\"t e2 prompt\""));
  EXPECT_THAT(html, HasSubstr("in italics"));
  EXPECT_THAT(html_of(plots()), Not(HasSubstr("in italics")));
}

TEST(TeacherPageTest, SaysWhatEachKKeepsAndCosts) {
  const std::string html = html_of(plots());

  EXPECT_THAT(html, HasSubstr("This run keeps k = 4, 90.0 % on average"));
  EXPECT_THAT(html, HasSubstr("its tokens take 960 B as fp16, 540 B packed."));
  EXPECT_THAT(html, HasSubstr("<td>2</td><td>75.00 %</td><td>40.00 %</td><td>20 B</td>"
                              "<td>600 B</td><td>13 B</td><td>390 B</td>"));
  EXPECT_THAT(html, HasSubstr("all there are"));
  TeacherPlots large = plots();
  large.tokens = 1000;
  EXPECT_THAT(html_of(large), HasSubstr("tokens spread over the file"));
}

TEST(TeacherPageTest, DrawsHaveWordsInsteadOfMass) {
  TeacherPlots drawn = plots();
  drawn.mass = {};
  drawn.drawn = "50 draws";
  const std::string html = html_of(drawn);

  EXPECT_THAT(html, HasSubstr("<p class=\"words\">50 draws</p>"));
  EXPECT_THAT(html, Not(HasSubstr("Probability mass and file size")));
}

TEST(TeacherPageTest, ShowsWhichRankHoldsWhatAndWhenItWaited) {
  const std::string html = html_of(plots());

  EXPECT_THAT(html, HasSubstr("layers 0 to 1"));
  EXPECT_THAT(html, HasSubstr("layers 2 to 3"));
  EXPECT_THAT(html, HasSubstr("75.0 % busy"));
  EXPECT_THAT(html, HasSubstr("50.0 % busy"));
  EXPECT_THAT(html, HasSubstr("waiting for ranks of its copy: 2.00 s, 50.0 %"));
}

TEST(TeacherPageTest, HeadsAreShownWhereTheyAreShared) {
  TeacherPlots tensor = plots();
  tensor.ranks = {4, 8, true, {{0, 0, 4, 0, 5, 3.0, 1.0, 0.0}, {0, 0, 4, 5, 8, 2.0, 2.0, 0.0}}};
  const std::string html = html_of(tensor);

  EXPECT_THAT(html, HasSubstr("heads 0 to 4"));
  EXPECT_THAT(html, HasSubstr("heads 5 to 7"));
  EXPECT_THAT(html, HasSubstr("what the rank&#39;s CPU sees of its GPU"));
}

TEST(TeacherPageTest, ARunThatOnlySealedHasAMapWithoutTimes) {
  TeacherPlots sealed = plots();
  sealed.ranks = {4, 8, false, {{0, 0, 4, 0, 8, 0.0, 0.0, 0.0}}};
  sealed.tokens_per_second = {0.0};
  const std::string html = html_of(sealed);

  EXPECT_THAT(html, HasSubstr("all 4 layers"));
  EXPECT_THAT(html, HasSubstr("found all samples done"));
  EXPECT_THAT(html, Not(HasSubstr("% busy")));
}

TEST(TeacherPageTest, ManyRanksAreClippedWithWords) {
  TeacherPlots many = plots();
  many.ranks.ranks.assign(100, {0, 0, 4, 0, 8, 1.0, 0.0, 0.0});
  const std::string html = html_of(many);

  EXPECT_THAT(html, HasSubstr("The first 64 of 100 ranks are shown."));
  EXPECT_THAT(html, HasSubstr(">rank 63<"));
  EXPECT_THAT(html, Not(HasSubstr(">rank 64<")));
}

TEST(TeacherPageTest, CutSamplesAreMarkedAmongTheLengths) {
  TeacherPlots cut = plots();
  EXPECT_THAT(html_of(cut), HasSubstr("cut or left out"));
  EXPECT_THAT(html_of(cut), HasSubstr("ok 2, truncated 1; 12 tokens were left out (at most 16"));
  EXPECT_THAT(html_of(cut), Not(HasSubstr("The last bar")));
  cut.lengths[2] = 1000000;
  EXPECT_THAT(html_of(cut), HasSubstr("The last bar has all samples that are longer."));
  cut.is_cut = {0, 0, 0};
  EXPECT_THAT(html_of(cut), Not(HasSubstr("cut or left out")));
}

TEST(TeacherPageTest, EmptyRunsAndRunsOfOneTokenHaveAPage) {
  EXPECT_THAT(html_of({}), HasSubstr("<h1>"));
  EXPECT_THAT(html_of({}), Not(HasSubstr("nan")));
  EXPECT_EQ(TeacherPlots().padding_share(), 0.0);

  TeacherPlots one;
  one.tokens = one.samples = one.longest = 1;
  one.lengths = {1};
  one.is_cut = {0};
  one.tokens_per_second = {5.0};
  one.mass = {{{1, 1.0, 1.0, 14, 11}}, 1};
  one.texts = {{0, 0, 1, {token("a", -1.0)}}};
  const std::string html = html_of(one);
  EXPECT_THAT(html, HasSubstr("This run keeps k = 1, 100.0 % on average"));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  for (const std::string& picture : report::charts_in(html))
    EXPECT_EQ(report::malformed(picture), "");
}

TEST(TeacherPageTest, EveryPictureIsWellFormed) {
  const std::vector<std::string> found = report::charts_in(html_of(plots()));

  EXPECT_EQ(found.size(), 4U);  // mass, lengths, ranks, speed
  for (const std::string& picture : found)
    EXPECT_EQ(report::malformed(picture), "");
}

TEST(TeacherPageTest, TheSummaryHasTheNumbersOfThePictures) {
  report::RunSummary summary;
  TeacherPage(plots()).record(summary);

  EXPECT_THAT(summary.series["kept_mass/k"], ElementsAre(1.0, 2.0, 4.0));
  EXPECT_THAT(summary.series["kept_mass/mean"], ElementsAre(0.5, 0.75, 0.9));
  EXPECT_THAT(summary.series["ranks/waiting_seconds"], ElementsAre(1.0, 2.0));
  EXPECT_THAT(summary.series["tokens_per_second_of_copies"], ElementsAre(100.0, 120.0));
}

}  // namespace
}  // namespace mgpu::jobs
