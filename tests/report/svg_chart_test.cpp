#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/report/svg_chart.hpp>

namespace mgpu::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(TicksTest, AreRoundAndInside) {
  EXPECT_THAT(round_ticks(0, 17.9, 6), ElementsAre(0, 5, 10, 15));
  EXPECT_THAT(round_ticks(0.3, 1.6, 4), ElementsAre(0.5, 1.0, 1.5));
  EXPECT_THAT(round_ticks(2, 2, 4), ElementsAre(2));
  EXPECT_EQ(round_ticks(-1e6, 1e6, 4).size(), 5U);
}

TEST(TicksTest, TextsAreShort) {
  EXPECT_EQ(tick_text(0, 0.5), "0");
  EXPECT_EQ(tick_text(1.5, 0.5), "1.5");
  EXPECT_EQ(tick_text(3, 1), "3");
  EXPECT_EQ(tick_text(20000, 10000), "20k");
  EXPECT_EQ(tick_text(3e-4, 1e-4), "3e-04");
}

TEST(TicksTest, SmallNeighborsHaveDifferentTexts) {
  EXPECT_EQ(tick_text(1.2e-4, 2e-5), "1.2e-04");
  EXPECT_EQ(tick_text(-1.4e-4, 2e-5), "-1.4e-04");
  EXPECT_EQ(tick_text(1e-4, 2e-5), "1.0e-04");
}

TEST(SpreadApartTest, KeepsOrderGapAndBounds) {
  const std::vector<double> y = spread_apart({100, 101, 99, 10}, 15, 0, 110);

  EXPECT_THAT(y, ElementsAre(95, 110, 80, 10));
  EXPECT_THAT(spread_apart({}, 15, 0, 110), ElementsAre());
  EXPECT_THAT(spread_apart({50, 20}, 15, 0, 110), ElementsAre(50, 20));
}

TEST(ThinnedTest, TakesMeansOfEqualStretches) {
  const Curve thin = thinned({{0, 1, 2, 3}, {4, 6, 10, 20}}, 2);
  EXPECT_THAT(thin.x, ElementsAre(0.5, 2.5));
  EXPECT_THAT(thin.y, ElementsAre(5, 15));
  EXPECT_EQ(thinned({{0, 1}, {4, 6}}, 2).x.size(), 2U);
}

std::string chart_of(const Curve& curve) {
  LineChart chart;
  chart.label_decimals = 2;
  chart.curves.push_back({"loss", curve, "c1"});
  chart.curves.back().key = "/series/loss/2";
  return svg_line_chart(chart);
}

TEST(LineChartTest, TheLabelShowsTheLastValueAndItsPlace) {
  EXPECT_THAT(chart_of({{1, 2, 3}, {1, 2, 2.345}}),
              HasSubstr("data-key=\"/series/loss/2\">2.35  loss</text>"));
}

TEST(LineChartTest, AHoleSplitsTheCurve) {
  const double hole = std::numeric_limits<double>::quiet_NaN();
  const std::string svg = chart_of({{1, 2, 3, 4, 5}, {1, 2, hole, 2, 1}});

  EXPECT_NE(svg.find("<polyline"), svg.rfind("<polyline"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

LineChart chart_with(const std::vector<double>& y) {
  LineChart chart;
  Curve curve;
  for (const double value : y) {
    curve.x.push_back(static_cast<double>(curve.x.size()));
    curve.y.push_back(value);
  }
  chart.curves.push_back({"loss", curve, "c1"});
  return chart;
}

TEST(LogAxisTest, IsForPositiveValuesOverMoreThanADecade) {
  EXPECT_TRUE(spans_decade(chart_with({6.27, 1.0, 0.6})));
  EXPECT_FALSE(spans_decade(chart_with({6.27, 1.0, 0.63})));
  EXPECT_FALSE(spans_decade(chart_with({6.27, 0.0})));
  EXPECT_FALSE(spans_decade(chart_with({6.27, -1.0})));
  EXPECT_FALSE(spans_decade(chart_with({})));
  LineChart banded = chart_with({6.27, 1.0});
  banded.curves[0].low = {6.0, 0.5};
  EXPECT_TRUE(spans_decade(banded));
}

TEST(LogAxisTest, TicksAreRound) {
  EXPECT_THAT(log_ticks(0.4, 7.0), ElementsAre(0.5, 1.0, 2.0, 5.0));
  EXPECT_THAT(log_ticks(0.001, 20.0), ElementsAre(0.001, 0.01, 0.1, 1.0, 10.0));
}

TEST(LogAxisTest, EqualRatiosAreEquallyFarApart) {
  LineChart chart = chart_with({16.0, 4.0, 1.0});
  chart.log_y = true;
  const std::string svg = svg_line_chart(chart);

  const std::regex points(R"re(points="[0-9.]+,([0-9.]+) [0-9.]+,([0-9.]+) [0-9.]+,([0-9.]+)")re");
  std::smatch y;
  ASSERT_TRUE(std::regex_search(svg, y, points)) << svg;
  EXPECT_NEAR(std::stod(y[2]) - std::stod(y[1]), std::stod(y[3]) - std::stod(y[2]), 0.2);
  for (const char* tick : {">1</text>", ">2</text>", ">5</text>", ">10</text>"})
    EXPECT_THAT(svg, HasSubstr(tick));
}

TEST(BackdropTest, ItsNameAvoidsTheCurves) {
  const auto y_of_name = [](std::vector<double> values) {
    LineChart chart = chart_with(values);
    chart.from_zero = true;
    chart.backdrop = {{0.0, 1.0, 2.0}, {1.0, 0.5, 0.1}};
    chart.backdrop_label = "learning rate";
    const std::string svg = svg_line_chart(chart);
    std::smatch y;
    const std::regex name(R"re(<text class="backdrop-name" x="[0-9.]+" y="([0-9.]+)")re");
    return std::regex_search(svg, y, name) ? std::stod(y[1]) : 0.0;
  };
  const double above = y_of_name({1.0, 1.0, 1.0});
  EXPECT_EQ(y_of_name({0.1, 0.1, 1.0}), above);
  EXPECT_GT(y_of_name({0.87, 0.87, 1.0}), above + 20.0);
}

TEST(LineChartTest, AConstantOrEmptyCurveHasAxes) {
  EXPECT_THAT(chart_of({{1, 2}, {5, 5}}), Not(HasSubstr("nan")));
  EXPECT_THAT(chart_of({}), HasSubstr("class=\"grid\""));
}

TEST(PhaseColorTest, EachPhaseHasAColorOfItsOwn) {
  PhaseTable table;
  table.phases = {"forward", "waiting for ranks", "waiting for data",   "tokenize", "logging",
                  "load",    "journal",           "allreduce, exposed", "short",    "other"};
  RankPhases rank;
  for (const std::string& phase : table.phases)
    rank.seconds[phase] = phase == "short" ? 0.01 : 10.0;
  table.ranks = {rank};

  std::vector<std::string> classes = phase_classes(table);
  EXPECT_EQ(classes[0], "ph-forward");
  EXPECT_EQ(classes[1], "ph-wait");
  EXPECT_EQ(classes[7], "ph-exposed");
  EXPECT_EQ(classes[8], "ph-other");  // less than 1 %
  EXPECT_EQ(classes[9], "ph-other");
  std::ranges::sort(classes);
  EXPECT_EQ(std::ranges::adjacent_find(classes) - classes.begin(),
            std::ranges::find(classes, "ph-other") - classes.begin());
}

TEST(TimelineTest, WithoutIntervalsThereIsNoPicture) {
  EXPECT_EQ(svg_timeline({}), "");
  EXPECT_EQ(svg_memory({}), "");
}

// Every text must lie within the chart if its characters are 6.4 pixels wide.
TEST(TimelineTest, ALongLegendHasSeveralRows) {
  PhaseTable table;
  table.wall_s = 10.0;
  table.ranks.resize(2);
  for (int p = 0; p < 14; ++p) {
    table.phases.push_back("a phase of the run " + std::to_string(p));
    for (RankPhases& rank : table.ranks) {
      rank.shares[table.phases.back()] = {0.05F, 0.05F};
      rank.seconds[table.phases.back()] = 0.5;
    }
  }
  const std::string svg = svg_timeline(table);

  const std::regex text(R"re(<text class="legend" x="([0-9.]+)" y="([0-9.]+)")re");
  std::set<std::string> rows;
  std::ptrdiff_t texts = 0;
  for (std::sregex_iterator at(svg.begin(), svg.end(), text), end; at != end; ++at, ++texts) {
    EXPECT_LT(std::stod((*at)[1]) + 6.4 * 21, 1040.0);
    rows.insert((*at)[2]);
  }
  EXPECT_EQ(texts, 8 + 1) << svg.substr(0, 600);  // eight colors, and "other" for six phases
  EXPECT_GT(rows.size(), 1U);
}

}  // namespace
}  // namespace mgpu::report
