// Tests the progress and the results of the cells of an experiment.
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/report/html_page.hpp>
#include <mgpu/store/results/small_table.hpp>

#include "jobs/experiment/cell_answers.hpp"
#include "jobs/experiment/cell_results.hpp"
#include "jobs/experiment/cell_states.hpp"
#include "jobs/experiment/job_states.hpp"
#include "jobs/experiment/page.hpp"
#include "jobs/experiment/preferences.hpp"
#include "support/made_config.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::config_of;

Stage stage_of(const std::string& name, const std::string& job,
               const std::vector<std::size_t>& after) {
  Stage stage{.name = name, .config = config_of({{"job", job}}), .file = {}, .output = {}};
  stage.after = after;
  return stage;
}

constexpr std::size_t kReference = 0;
constexpr std::size_t kRollouts = 1;
constexpr std::size_t kValue = 2;
constexpr std::size_t kAlone = 3;
constexpr std::size_t kPita = 4;

/// Returns a graph with the evaluations of two algorithms. `alone` evaluates a trained reference,
/// and `pita` evaluates a value model that learns from rollouts of the reference.
StageGraph two_cells() {
  return {{stage_of("reference", "train", {}), stage_of("rollouts", "generate", {kReference}),
           stage_of("value", "train", {kReference, kRollouts}),
           stage_of("alone", "generate", {kReference}), stage_of("pita", "generate", {kValue})},
          {{{{"algorithm", "alone"}}, kAlone}, {{{"algorithm", "pita"}, {"eta", "0.5"}}, kPita}}};
}

TEST(PreferencesTest, AStageHasTheLargestSumOfTheCellsThatNeedIt) {
  StageGraph graph = two_cells();
  graph.stages[kPita].values = {{"round", "2"}};
  set_preferences({{"algorithm=pita", 5}, {"eta=0.5", -7}, {"round", 10}}, graph);
  std::vector<double> numbers;
  for (const Stage& stage : graph.stages)
    numbers.push_back(stage.preference);
  EXPECT_THAT(numbers, ElementsAre(0, -2, -2, 0, 18));  // `alone` has 0, and needs the reference
}

TEST(CellStatesTest, AllBeforeAreDirectAndIndirectOnes) {
  const StageGraph graph = two_cells();
  EXPECT_THAT(all_before(graph.stages, kPita), ElementsAre(kReference, kRollouts, kValue));
  EXPECT_THAT(all_before(graph.stages, kAlone), ElementsAre(kReference));
  EXPECT_THAT(all_before(graph.stages, kReference), IsEmpty());
}

TEST(CellStatesTest, ACellPassesThroughItsStates) {
  const StageGraph graph = two_cells();
  const CellStates cells(graph);
  std::vector<StageState> states(graph.stages.size(), StageState::waiting);
  const auto alone = [&] { return cells.of(0, states); };
  const auto pita = [&] { return cells.of(1, states); };
  states[kReference] = StageState::running;
  EXPECT_EQ(alone(), CellState::not_started);  // no stage before it makes data
  states[kReference] = StageState::done;
  EXPECT_EQ(alone(), CellState::model_trained);
  EXPECT_EQ(pita(), CellState::not_started);
  states[kRollouts] = StageState::reused;
  EXPECT_EQ(pita(), CellState::data_generated);
  states[kValue] = StageState::stopped;
  EXPECT_EQ(pita(), CellState::data_generated);
  states[kValue] = StageState::done;
  states[kPita] = StageState::running;
  EXPECT_EQ(pita(), CellState::model_trained);
  states[kPita] = StageState::reused;
  EXPECT_EQ(pita(), CellState::eval_completed);
}

TEST(CellStatesTest, AFailedStageFailsTheCellsAfterItOnly) {
  const StageGraph graph = two_cells();
  const CellStates cells(graph);
  std::vector<StageState> states(graph.stages.size(), StageState::waiting);
  states[kReference] = StageState::done;
  states[kRollouts] = StageState::failed;
  EXPECT_EQ(cells.of(1, states), CellState::failed);
  EXPECT_EQ(cells.of(0, states), CellState::model_trained);
  states[kRollouts] = StageState::done;
  states[kPita] = StageState::left_out;
  EXPECT_EQ(cells.of(1, states), CellState::failed);
}

TEST(CellStatesTest, AnEvaluationWithoutStagesBeforeItHasNotStarted) {
  const StageGraph graph{{stage_of("alone", "generate", {})}, {{{{"algorithm", "alone"}}, 0}}};
  const CellStates cells(graph);
  EXPECT_EQ(cells.of(0, {StageState::running}), CellState::not_started);
  EXPECT_EQ(cells.of(0, {StageState::done}), CellState::eval_completed);
}

TEST(JobStatesTest, HaveEachStageAndCell) {
  const StageGraph graph = two_cells();
  std::vector<StageRecord> records(graph.stages.size());
  records[kReference].state = StageState::done;
  records[kReference].members = {1, 3};
  records[kReference].begin_s = 0.5;
  records[kReference].end.directory = "/runs/1";
  records[kRollouts].state = StageState::failed;
  records[kRollouts].end = {.exit = ExitCode::data, .error = "no row"};
  records[kValue].state = StageState::left_out;
  const auto json = formats::parse_json_object(job_states(graph, CellStates(graph), records));
  EXPECT_EQ(json.get<int>("schema"), 1);
  const auto& stages = *json.at("stages").list();
  ASSERT_EQ(stages.size(), 5U);
  EXPECT_EQ(stages[0].get<std::string>("job"), "train");
  EXPECT_EQ(stages[0].get<double>("begin_s"), 0.5);
  EXPECT_THAT(stages[0].get<std::vector<int>>("ranks"), ElementsAre(1, 3));
  EXPECT_EQ(stages[0].get<std::string>("directory"), "/runs/1");
  EXPECT_EQ(stages[1].get<std::string>("state"), "failed");
  EXPECT_EQ(stages[1].get<int>("exit"), 65);
  EXPECT_EQ(stages[1].get<std::string>("error"), "no row");
  EXPECT_EQ(stages[2].get<std::string>("state"), "left out");
  const auto& cells = *json.at("cells").list();
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].get<std::string>("state"), "MODEL_TRAINED");
  EXPECT_EQ(cells[0].find("eta"), nullptr);
  EXPECT_EQ(cells[1].get<std::string>("state"), "FAILED");
  EXPECT_EQ(cells[1].get<std::string>("eta"), "0.5");
  EXPECT_EQ(cells[1].get<std::string>("stage"), "pita");
}

// --- results ---------------------------------------------------------------------------------

/// The KL divergence of a policy with mean reward 0.8 from one with mean reward 0.5, if each reward
/// is 0 or 1.
const double kKlOf08 = 0.8 * std::log(1.6) + 0.2 * std::log(0.4);

report::Result result(const std::string& key, double value) {
  return {.key = key, .label = key, .value = value, .decimals = 2};
}

/// Returns records in which `alone` has the mean reward `reference`, and 30 completions of `pita`
/// have 300 tokens.
std::vector<StageRecord> two_records(double reference = 0.5) {
  std::vector<StageRecord> records(5);
  for (StageRecord& record : records)
    record.state = StageState::done;
  records[kAlone].end.results = {result("reward", reference)};
  records[kAlone].end.results[0].estimate = Estimate{reference, 0.05, 0.4, 0.6, 100};
  records[kPita].end.done = 30;
  records[kPita].end.results = {result("reward", 0.1), result("score", 0.75),
                                result("kl", kKlOf08 / 10.0), result("output_tokens", 300.0)};
  return records;
}

std::vector<CellResult> two_results(const std::vector<StageRecord>& records,
                                    const std::string& baseline = "alone") {
  Matrix matrix;
  matrix.baseline = baseline;
  return cell_results(matrix, two_cells(), records);
}

TEST(CellResultsTest, TheScoreComesBeforeTheRewardAndTheBestIsThatOfWholeCompletions) {
  const std::vector<CellResult> cells = two_results(two_records());
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].reward.value().value, 0.5);
  EXPECT_EQ(cells[0].stage, "alone");
  EXPECT_EQ(cells[0].reference, 0.5);
  EXPECT_FALSE(cells[0].best);  // it has no KL
  EXPECT_EQ(cells[1].reward.value().value, 0.75);
  EXPECT_EQ(cells[1].tokens, 10.0);
  EXPECT_EQ(cells[1].state, CellState::eval_completed);
  EXPECT_NEAR(cells[1].best.value(), 0.8, 1e-9);
  EXPECT_EQ(cells[1].value("eta"), "0.5");
  EXPECT_EQ(cells[1].value("model"), "");
  EXPECT_THAT(two_results({}), IsEmpty());  // as on ranks other than 0
}

TEST(CellResultsTest, AnEstimateOfTheKlBelowZeroCountsAsZero) {
  std::vector<StageRecord> records = two_records();
  records[kPita].end.results[2].value = -0.01;
  EXPECT_NEAR(two_results(records)[1].best.value(), 0.5, 1e-6);
}

TEST(CellResultsTest, WithoutABaselineBetween0And1NoCellHasABest) {
  for (const double reference : {0.0, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    const std::vector<CellResult> cells = two_results(two_records(reference));
    EXPECT_FALSE(cells[0].reference) << reference;
    EXPECT_FALSE(cells[1].best) << reference;
  }
  EXPECT_FALSE(two_results(two_records(), "")[1].best);
  std::vector<StageRecord> records = two_records();
  records[kAlone].end.results.clear();
  records[kAlone].state = StageState::failed;
  EXPECT_FALSE(two_results(records)[1].best);
}

TEST(CellResultsTest, TheReferenceIsThatOfTheSameDataSet) {
  StageGraph graph = two_cells();
  graph.cells[0].values["dataset"] = "sums";
  graph.cells[1].values["dataset"] = "stars";
  Matrix matrix;
  matrix.baseline = "alone";
  EXPECT_FALSE(cell_results(matrix, graph, two_records())[1].reference);
  graph.cells[1].values["dataset"] = "sums";
  EXPECT_EQ(cell_results(matrix, graph, two_records())[1].reference, 0.5);
}

TEST(CellTableTest, OnlyColumnsWithAValueAreShown) {
  std::vector<StageRecord> records = two_records();
  EXPECT_EQ(cell_lines(two_results(records)),
            "algorithm  eta  reward               KL per token  best reward at this KL\n"
            "alone           0.5000 [0.40, 0.60]\n"
            "pita       0.5  0.7500               0.0193        0.8000\n");
  records[kPita].state = StageState::failed;
  records[kPita].end = {};
  EXPECT_EQ(cell_lines(two_results(records)),
            "algorithm  eta  state   reward\n"
            "alone                   0.5000 [0.40, 0.60]\n"
            "pita       0.5  FAILED\n");
}

TEST(CellTableTest, MissingNumbersAreNanInTheResults) {
  using Numbers = std::vector<double>;
  using Texts = std::vector<std::string>;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::vector<CellResult> cells = two_results(two_records());
  const store::SmallTable table = cell_table(cells);
  const store::SmallTable wanted = store::make_small_table(
      "cells", {{"algorithm", Texts{"alone", "pita"}, ""},
                {"dataset", Texts{"", ""}, ""},
                {"model", Texts{"", ""}, ""},
                {"round", Texts{"", ""}, ""},
                {"eta", Texts{"", "0.5"}, ""},
                {"stage", Texts{"alone", "pita"}, ""},
                {"state", Texts{"EVAL_COMPLETED", "EVAL_COMPLETED"}, ""},
                {"reward", Numbers{0.5, 0.75}, ""},
                {"reward_low", Numbers{0.4, kNone}, ""},
                {"reward_high", Numbers{0.6, kNone}, ""},
                {"kl", Numbers{kNone, kKlOf08 / 10.0}, ""},
                {"kl_low", Numbers{kNone, kNone}, ""},
                {"kl_high", Numbers{kNone, kNone}, ""},
                {"best_reward", Numbers{kNone, cells[1].best.value()}, ""}});
  EXPECT_EQ(table.spec.fingerprint(), wanted.spec.fingerprint());
  EXPECT_EQ(table.spec.rows, 2);
  EXPECT_EQ(table.rows, wanted.rows);
}

TEST(CellSectionTest, NamesOfRowsAndColumnsLeaveOutWhatIsMissing) {
  CellResult cell{.values = {{"algorithm", "pita"}}, .stage = "pita"};
  EXPECT_EQ(row_of(cell), "pita");
  EXPECT_EQ(column_of(cell), "");
  cell.values = {{"algorithm", "pita"}, {"round", "1"}, {"eta", "2"}, {"model", "m"}};
  EXPECT_EQ(row_of(cell), "pita, round 1, eta 2");
  EXPECT_EQ(column_of(cell), "m");
  cell.values["dataset"] = "sums";
  EXPECT_EQ(column_of(cell), "sums, m");
}

TEST(CellSectionTest, ChartsNeedRewardsAndAKl) {
  std::vector<CellResult> cells = two_results(two_records());
  const std::string rewards = svg_rewards(cells);
  EXPECT_THAT(rewards, HasSubstr("0.7500"));
  EXPECT_THAT(rewards, HasSubstr("[0.40, 0.60]"));
  EXPECT_THAT(rewards, HasSubstr("pita, eta 0.5"));
  EXPECT_THAT(rewards, HasSubstr("opacity=\"0.12\""));  // the smallest reward
  EXPECT_THAT(rewards, HasSubstr("opacity=\"0.60\""));  // the largest one
  EXPECT_THAT(svg_reward_by_kl(cells), HasSubstr("best"));
  cells[1].best.reset();
  EXPECT_THAT(svg_reward_by_kl(cells), Not(HasSubstr("best")));
  cells[1].kl.reset();
  EXPECT_EQ(svg_reward_by_kl(cells), "");
  for (CellResult& cell : cells)
    cell.reward.reset();
  EXPECT_EQ(svg_rewards(cells), "");
}

TEST(CellSectionTest, AnswersToOnePromptAreBelowEachOther) {
  CellResult alone{.values = {{"algorithm", "alone"}}, .stage = "alone"};
  CellResult pita{.values = {{"algorithm", "pita"}}, .stage = "pita"};
  alone.answers = {{"1 + 1", "3"}, {"2 + 2", "4"}};
  pita.answers = {{"2 + 2", std::string(400, 'x')}, {"1 + 1", "2"}};
  const report::Table table = answer_table({alone, pita});
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_THAT(table.rows[0], ElementsAre("1 + 1", "alone", "3"));
  EXPECT_THAT(table.rows[1], ElementsAre("1 + 1", "pita", "2"));
  EXPECT_THAT(table.rows[2], ElementsAre("2 + 2", "alone", "4"));
  EXPECT_THAT(table.rows[3], ElementsAre("2 + 2", "pita", std::string(297, 'x') + "..."));
  EXPECT_THAT(answer_table({}).rows, IsEmpty());
}

}  // namespace
}  // namespace mgpu::jobs
