#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "jobs/experiment/best_reward.hpp"
#include "jobs/experiment/cell_values.hpp"
#include "jobs/experiment/placeholders.hpp"
#include "jobs/experiment/stage_end.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;

std::string replaced(const std::string& text) {
  return replace_placeholders(text, [](const std::string& name) -> std::optional<std::string> {
    const std::map<std::string, std::string> known = {
        {"eta", "0.5"}, {"algorithm", "pita"}, {"stage.pita_value", "runs/pita_value"}};
    const auto found = known.find(name);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(PlaceholdersTest, KnownNamesAreReplaced) {
  EXPECT_EQ(replaced("eta: ${eta}\npath: ${algorithm}/${eta}.yaml\n"),
            "eta: 0.5\npath: pita/0.5.yaml\n");
  EXPECT_EQ(replaced("a: ${eta}"), "a: 0.5");
}

TEST(PlaceholdersTest, NamesMayContainNames) {
  EXPECT_EQ(replaced("path: ${stage.${algorithm}_value}/ckpt"), "path: runs/pita_value/ckpt");
}

TEST(PlaceholdersTest, VariablesEscapesAndCommentsStay) {
  for (const char* text : {"path: ${SCRATCH}/rows", "path: $HOME", "text: $${eta}", "  # ${eta}\n",
                           "open: ${eta", "empty: ${}", "", "a: $", "$$"})
    EXPECT_EQ(replaced(text), text);
  EXPECT_EQ(replaced("eta: ${eta}  # ${eta}"), "eta: 0.5  # 0.5");
}

TEST(CellValuesTest, NamesOfStagesHaveTheUsedValuesInAFixedOrder) {
  EXPECT_EQ(stage_name("reference", {}), "reference");
  EXPECT_EQ(stage_name("guided", {{"eta", "0.5"}, {"dataset", "sums"}, {"round", "1"}}),
            "guided-sums-r1-eta0.5");
  EXPECT_EQ(stage_name("pita", {{"algorithm", "pita"}, {"model", "m"}}), "pita-m");
}

TEST(CellValuesTest, ValuesHaveNoConflictIfCommonOnesAreEqual) {
  EXPECT_TRUE(have_no_conflict({{"round", "0"}, {"eta", "1"}}, {{"round", "0"}, {"model", "m"}}));
  EXPECT_FALSE(have_no_conflict({{"round", "0"}}, {{"round", "1"}}));
  EXPECT_TRUE(have_no_conflict({}, {{"round", "1"}}));
}

TEST(CellValuesTest, CellsAreTheProductOfTheListsAndRoundsComeInOrder) {
  Matrix matrix;
  EXPECT_THAT(values_of_cells(matrix), ElementsAre(CellValues{{"round", "0"}}));
  matrix.algorithms = {"pita", "dpo"};
  matrix.datasets = {"sums", "stars", "texts"};
  matrix.rounds = 2;
  const std::vector<CellValues> cells = values_of_cells(matrix);
  EXPECT_EQ(cells.size(), 12U);
  EXPECT_TRUE(
      std::ranges::is_sorted(cells, {}, [](const CellValues& cell) { return cell.at("round"); }));
  matrix.select = {{"algorithm", {"dpo"}}, {"dataset", {"sums", "texts"}}, {"round", {"1"}}};
  EXPECT_THAT(values_of_cells(matrix),
              ElementsAre(CellValues{{"algorithm", "dpo"}, {"dataset", "sums"}, {"round", "1"}},
                          CellValues{{"algorithm", "dpo"}, {"dataset", "texts"}, {"round", "1"}}));
}

TEST(BestRewardTest, PoliciesOfEachWeightOfTheKlHaveTheBestReward) {
  for (const double p : {0.5, 0.05, 0.9}) {
    for (const double eta : {0.1, 0.5, 1.0, 4.0}) {
      const double normalizer = p * std::exp(1 / eta) + 1 - p;
      const double reward = p * std::exp(1 / eta) / normalizer;
      const double kl = reward / eta - std::log(normalizer);
      EXPECT_NEAR(best_reward(p, kl), reward, 1e-6) << p << " " << eta;
    }
    EXPECT_NEAR(best_reward(p, 0.0), p, 1e-8);
    EXPECT_EQ(best_reward(p, -std::log(p)), 1.0);
    EXPECT_EQ(best_reward(p, 10.0), 1.0);
  }
}

TEST(StageEndTest, ResultsKeepTheirIntervals) {
  StageEnd end;
  end.results.push_back({.key = "score",
                         .label = "accuracy",
                         .value = 1.0 / 3,
                         .decimals = 4,
                         .estimate = Estimate{1.0 / 3, 0.01, 0.31, 0.35, 100}});
  end.results.push_back({.key = "rate", .label = "rate", .value = NAN});
  const StageEnd read = end_of(to_text(end));
  ASSERT_EQ(read.results.size(), 2U);
  EXPECT_EQ(read.results[0].value, 1.0 / 3);
  EXPECT_EQ(read.results[0].interval(), "[0.3100, 0.3500]");
  EXPECT_EQ(read.results[0].estimate->count, 100);
  EXPECT_FALSE(read.results[1].estimate);
  EXPECT_TRUE(std::isnan(read.results[1].value));
}

TEST(CellValuesTest, PartsShareWholeCellsAndEachHasTheBaseline) {
  Matrix matrix;
  matrix.algorithms = {"alone", "pita", "dpo", "cd"};
  matrix.etas = {"1", "2"};
  matrix.rounds = 2;
  matrix.baseline = "alone";
  EXPECT_EQ(num_dealt(matrix), 3);
  const std::size_t all = values_of_cells(matrix).size();
  std::size_t sum = 0;
  for (int part = 0; part < 2; ++part) {
    matrix.part = {part, 2};
    std::map<std::string, int> cells;
    for (const CellValues& cell : values_of_cells(matrix))
      ++cells[cell.at("algorithm")];
    EXPECT_EQ(cells.contains("pita"), part == 0);
    EXPECT_EQ(cells.contains("dpo"), part == 1);
    for (const auto& [algorithm, count] : cells) {
      EXPECT_EQ(count, 4) << algorithm;
      sum += algorithm == "alone" && part == 1 ? 0 : static_cast<std::size_t>(count);
    }
  }
  EXPECT_EQ(sum, all);
}

}  // namespace
}  // namespace mgpu::jobs
