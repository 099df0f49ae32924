#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <mgpu/report/check_lines.hpp>
#include <mgpu/report/plan_text.hpp>

namespace mgpu::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CheckLinesTest, DotsLeadToTheVerdict) {
  EXPECT_EQ(check_line({"config", "conf/train_ad.yaml", Verdict::pass, "31 keys, 4 not default"}),
            "config     conf/train_ad.yaml ............................. PASS   31 keys, 4 not "
            "default");
  EXPECT_EQ(check_line({"nccl", std::string(60, 'x'), Verdict::fail, ""}),
            "nccl       " + std::string(60, 'x') + " FAIL");
  const std::string painted = check_line({"a", "b\x1b", Verdict::warn, "c"}, true);
  EXPECT_THAT(painted, HasSubstr("a          b\\x1b ..."));
  EXPECT_THAT(painted, HasSubstr("... \x1b[33mWARN\x1b[0m   c"));
}

TEST(CheckLinesTest, TheTotalCountsWhatHappened) {
  const std::vector<Check> checks = {{"a", "1"},
                                     {"a", "2"},
                                     {"b", "3", Verdict::warn, ""},
                                     {"c", "4", Verdict::fail, ""},
                                     {"d", "5", Verdict::skip, "no GPU"},
                                     {"d", "6", Verdict::skip, "no GPU"}};
  EXPECT_EQ(check_total(checks, 6.42), "2 passed, 1 failed, 1 warning, 2 skipped in 6.4 s");
  EXPECT_EQ(check_total({}, 0.0), "0 passed in 0.0 s");
  EXPECT_EQ(nlohmann::json::parse(checks_json(checks))[4]["verdict"], "skip");
}

Plan small_plan() {
  Plan plan;
  plan.name = "train_ad";
  plan.machine = "1 node";
  plan.ranks = 2;
  plan.unit = "histories";
  plan.shares = {{"rank 0", "box", 0, 2190}, {"rank 1", "box", 2190, 2190}};
  plan.memory = {{"weights", 1 << 20}, {"activations", 3 << 20}};
  plan.card_bytes = 8 << 20;
  plan.times = {{"histories", 14.8, "0.01 s for each history"}, {"training", 165.0, ""}};
  plan.traffic = {{"inside box", 456789}};
  plan.limits = {{"disk in outputs/", 0.001, "12 MiB of 40 GiB", ""},
                 {"time limit", 0.75, "3:00 of 4:00", "train.max_steps"},
                 {"host memory", 0.5, "4.0 of 8.0 MiB", "train.micro_batch_size"},
                 {"open files", 0.01, "9 of 1024", ""}};
  return plan;
}

TEST(PlanTest, SaysWhoFitsAndHowLong) {
  EXPECT_EQ(plan_text(small_plan()),
            "plan for train_ad on 2 CPU ranks (1 node)\n"
            "who does what\n"
            "  rank 0  box  histories 0 .. 2,189  (2,190)\n"
            "  rank 1  box  histories 2,190 .. 4,379  (2,190)\n"
            "memory of the fullest rank\n"
            "  weights         1.0 MiB  |####--------------------------|\n"
            "  activations     3.0 MiB  |###########-------------------|\n"
            "  total           4.0 MiB of 8.0 MiB (50.0 %)\n"
            "expected time\n"
            "  histories    0:00:15  guess: 0.01 s for each history\n"
            "  training     0:02:45  guess\n"
            "  total        0:03:00  guess\n"
            "bytes per step\n"
            "  inside box   446.1 KiB\n"
            "tightest limits\n"
            "    75.0 %  time limit   3:00 of 4:00  (train.max_steps)\n"
            "    50.0 %  host memory  4.0 of 8.0 MiB  (train.micro_batch_size)\n"
            "     1.0 %  open files   9 of 1024\n");
}

TEST(PlanTest, ManyRanksAreFolded) {
  Plan plan = small_plan();
  plan.shares.assign(16, {"rank", "box", 0, 0});
  const std::string text = plan_text(plan);

  EXPECT_THAT(text, HasSubstr("  ... 10 more\n"));
  EXPECT_THAT(text, HasSubstr("nothing\n"));
  EXPECT_EQ(nlohmann::json::parse(plan_json(plan))["shares"].size(), 16U);
}

TEST(PlanTest, WhatDoesNotFitIsSaid) {
  Plan plan = small_plan();
  plan.limits = {{"GPU memory", 1.2, "95 of 79 GiB", "train.micro_batch_size"}};
  EXPECT_THAT(plan_text(plan), HasSubstr("(train.micro_batch_size)  DOES NOT FIT\n"));
}

TEST(PlanTest, JsonHasTheBasisOfEachTime) {
  const auto json = nlohmann::json::parse(plan_json(small_plan()));

  EXPECT_EQ(json["times"][0]["basis"], "0.01 s for each history");
  EXPECT_EQ(json["total_seconds"], 179.8);
  EXPECT_EQ(json["memory_total_bytes"], 4 << 20);
  EXPECT_EQ(json["limits"].size(), 4U);
  EXPECT_EQ(json["limits"][0]["what"], "time limit");
}

TEST(PlanTest, AnEmptyPlanIsOneLine) {
  EXPECT_EQ(plan_text({}), "plan for  on 1 CPU rank\n");
  EXPECT_THAT(plan_text(small_plan(), true), HasSubstr("\u2588\u2591"));
  EXPECT_THAT(plan_text(small_plan(), true), Not(HasSubstr("#")));
}

}  // namespace
}  // namespace mgpu::report
