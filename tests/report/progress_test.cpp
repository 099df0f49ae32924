#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/report/progress.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

std::chrono::system_clock::time_point noon() {
  return std::chrono::system_clock::time_point{std::chrono::seconds(1795262400)};  // 2026-11-21
}

TEST(LineScheduleTest, LinesThinOutToOneAMinute) {
  LineSchedule schedule(100.0);
  std::vector<int> said;
  for (int second = 0; second <= 200; ++second)
    if (schedule.due(100.0 + second)) said.push_back(second);

  EXPECT_EQ(said, (std::vector<int>{1, 2, 5, 10, 30, 60, 120, 180}));
}

TEST(LineScheduleTest, ALongSilenceGivesOneLine) {
  LineSchedule schedule(0.0);
  EXPECT_TRUE(schedule.due(90.0));
  EXPECT_FALSE(schedule.due(119.0));
  EXPECT_TRUE(schedule.due(120.0));
}

TEST(ProgressMeterTest, ARateNeedsTimeBetweenTwoPositions) {
  ProgressMeter meter;
  meter.update(1000, 5.0);
  EXPECT_FALSE(meter.rate());
  meter.update(1010, 5.1);
  EXPECT_FALSE(meter.rate());
  meter.update(1100, 15.0);
  EXPECT_DOUBLE_EQ(meter.rate().value(), 10.0);  // from 1000 to 1100, not from 0 to 1100
  EXPECT_DOUBLE_EQ(meter.eta_s(1200).value(), 10.0);
}

TEST(ProgressMeterTest, TheRateIsThatOfTheLastMinute) {
  ProgressMeter meter;
  std::int64_t done = 0;
  for (int second = 0; second <= 300; ++second)
    meter.update(done += second < 150 ? 1 : 20, second);

  EXPECT_NEAR(meter.rate().value(), 20.0, 1e-9);
}

TEST(ProgressMeterTest, ASecondLoopStartsAfresh) {
  ProgressMeter meter;
  meter.update(500, 0.0);
  meter.update(600, 1.0);
  meter.update(0, 2.0);
  EXPECT_FALSE(meter.rate());
}

TEST(EtaTest, BeyondADayItIsAMoment) {
  EXPECT_EQ(eta_text(3170, noon(), true), "0:52:50");
  EXPECT_EQ(eta_text(3170, noon(), false), "52:50");
  EXPECT_EQ(eta_text(86400, noon(), true), "24:00:00");
  EXPECT_EQ(eta_text(86460, noon(), true), "2026-11-22T12:01Z");
}

Event train_event() {
  return {"train",
          {{"step", std::int64_t{20650}},
           {"total", std::int64_t{50000}},
           {"loss", 0.41234},
           {"grad", 0.8123},
           {"lr", 2.1e-4}}};
}

std::string bar_at(int columns, bool utf8 = false) {
  Terminal terminal;
  terminal.columns = columns;
  terminal.utf8 = utf8;
  const Event event = train_event();
  return bar_text(event, position_of(event).value(), 9.264, "52:50", terminal);
}

TEST(BarTest, HasPositionLossRateAndEta) {
  EXPECT_EQ(bar_at(120),
            "train  41% |############------------------| 20650/50000  loss 0.412  9.26 step/s"
            "  eta 52:50");
}

TEST(BarTest, ANarrowScreenLosesTheBarsWidthThenTheRightParts) {
  EXPECT_EQ(bar_at(80),
            "train  41% |#######-----------| 20650/50000  loss 0.412  9.26 step/s  eta 52:50");
  EXPECT_EQ(bar_at(70).find("eta"), std::string::npos);
  EXPECT_EQ(bar_at(40), "train  41% |#####---------| 20650/50000");
  EXPECT_EQ(bar_at(30), "train  41% 20650/50000");
  for (int columns = 1; columns < 130; ++columns)
    EXPECT_LT(width_of(bar_at(columns)), static_cast<std::size_t>(std::max(columns, 2)));
}

TEST(BarTest, BlocksOnlyWhereTheLocaleHasThem) {
  EXPECT_NE(bar_at(120, true).find("\u2588\u2591"), std::string::npos);
}

TEST(ProgressBarTest, IsDrawnFiveTimesASecondAtMost) {
  std::string screen;
  ProgressBar bar([&](std::string_view text) { screen += text; });

  for (int i = 0; i < 100; ++i)
    bar.draw("x", 0.01 * i);

  EXPECT_EQ(screen, "\rx\x1b[K\rx\x1b[K\rx\x1b[K\rx\x1b[K\rx\x1b[K");
}

TEST(ProgressBarTest, FinishLeavesTheLineBehind) {
  std::string screen;
  ProgressBar bar([&](std::string_view text) { screen += text; });
  bar.draw("half", 0.0);
  bar.finish("full", 0.01);
  bar.clear();

  EXPECT_EQ(screen, "\rhalf\x1b[K\rfull\x1b[K\n");
}

}  // namespace
}  // namespace mgpu::report
