// Tests the tables of recipe `ad`, how they are read, and sizes that follow from keys.
#include <numeric>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "recipes/ad/evaluate.hpp"
#include "recipes/ad/results.hpp"
#include "recipes/ad/sizes.hpp"
#include "recipes/ad/tables.hpp"
#include "recipes/train_table.hpp"
#include "store/chunk_values.hpp"
#include "support/made_config.hpp"

namespace mgpu::recipes {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::config_of;
using testing_support::Keys;

/// Uses the 9 x 9 room, whose episodes have 20 steps.
class AdTablesTest : public testing::Test {
protected:
  const std::unique_ptr<ad::Environment> environment_ = ad::make_environment("darkroom", 0);
  const std::size_t horizon_ = static_cast<std::size_t>(environment_->horizon());
};

TEST_F(AdTablesTest, AGridGoesByControlThenTaskThenRun) {
  const EvaluationGrid grid{{Control::none, Control::clear_context}, {7, 3, 5}, 2, 4};

  EXPECT_EQ(grid.size(), 12);
  EXPECT_EQ(grid.control(5), Control::none);
  EXPECT_EQ(grid.control(6), Control::clear_context);
  EXPECT_EQ(grid.task(0), 7);
  EXPECT_EQ(grid.task(3), 3);
  EXPECT_EQ(grid.task(6), 7);
  EXPECT_EQ(grid.task(11), 5);
  EXPECT_EQ(grid.run(4), 0);
  EXPECT_EQ(grid.run(11), 1);
}

TEST_F(AdTablesTest, ControlsHaveTheirNames) {
  std::vector<std::string> names;
  for (const Control control : kControls)
    names.emplace_back(name_of(control));
  EXPECT_THAT(names, ElementsAre("none", "hide_rewards", "clear_context"));
  const EvaluationGrid grid{{Control::none}, {0}, 1, 1};
  EXPECT_EQ(sample_table(grid).columns.front().names, names);
}

TEST_F(AdTablesTest, HistoriesAreRowsOfTheirSteps) {
  const ad::HistoryShape shape{2, 3, environment_->horizon()};
  ad::HistorySet histories(*environment_, shape, 3, 2);  // stream 1 of task 1, stream 0 of task 2
  std::iota(histories.action().begin(), histories.action().end(), std::uint8_t{0});
  histories.reward()[3 * horizon_] = 9;  // first step of the second history
  const store::TableSpec table = history_table(*environment_, shape);

  const store::test::ChunkValues chunk(table, history_rows(*environment_, histories, table));

  EXPECT_EQ(table.path, "histories");
  EXPECT_EQ(table.rows, 2 * std::ssize(environment_->train_tasks()));
  EXPECT_EQ(chunk.first_row(), 3);
  EXPECT_EQ(chunk.rows(), 2);
  EXPECT_THAT(chunk.numbers<std::int32_t>("stream"), ElementsAre(1, 0));
  EXPECT_THAT(chunk.numbers<std::int32_t>("task"), ElementsAreArray(histories.task()));
  const ad::Point goal = environment_->point(histories.task()[1]);
  EXPECT_EQ(chunk.numbers<std::int32_t>("goal_x")[1], goal.x);
  EXPECT_EQ(chunk.numbers<std::int32_t>("goal_y")[1], goal.y);
  EXPECT_EQ(table.columns[table.column_index("action")].width, std::ssize(histories.action()) / 2);
  EXPECT_THAT(chunk.numbers<std::uint8_t>("action"), ElementsAreArray(histories.action()));
  EXPECT_EQ(chunk.numbers<std::uint8_t>("reward")[3 * horizon_], 9);
}

/// Holds the records of two tasks with two runs of two episodes each, with and without rewards.
class AdSamplesTest : public AdTablesTest {
protected:
  AdSamplesTest() {
    const auto tasks = environment_->test_tasks();
    grid_.tasks = {tasks[0], tasks[1]};
    for (std::int64_t id = 0; id < grid_.size(); ++id) {
      const auto number = static_cast<std::int32_t>(id);
      ad::RolloutRecord record{{number, 10 * number}, std::vector<std::uint8_t>(2 * horizon_)};
      std::fill_n(record.path.begin() + environment_->horizon(), horizon_,
                  static_cast<std::uint8_t>(id));
      records_.push_back(std::move(record));
    }
  }

  /// Packs the records with ids 2 to 5 as a chunk of the table.
  store::test::ChunkValues chunk() const {
    const store::TableSpec table = sample_table(grid_);
    return {table,
            sample_rows(*environment_, grid_, {1, 2, 4}, std::span(records_).subspan(2, 4), table)};
  }

  EvaluationGrid grid_{{Control::none, Control::hide_rewards}, {}, 2, 2};
  std::vector<ad::RolloutRecord> records_;
};

TEST_F(AdSamplesTest, EachEpisodeIsARow) {
  const auto chunk = this->chunk();

  EXPECT_EQ(chunk.spec().rows, 16);
  EXPECT_EQ(chunk.spec().signal, "return");
  EXPECT_EQ(chunk.spec().axis, "episode");
  EXPECT_EQ(chunk.first_row(), 4);
  EXPECT_THAT(chunk.numbers<std::uint8_t>("control"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(chunk.numbers<std::int32_t>("run"), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  EXPECT_THAT(chunk.numbers<std::int32_t>("episode"), ElementsAre(1, 2, 1, 2, 1, 2, 1, 2));
  EXPECT_THAT(chunk.numbers<std::int32_t>("return"), ElementsAre(2, 20, 3, 30, 4, 40, 5, 50));
}

TEST_F(AdSamplesTest, GoalsAndOptimaAreThoseOfTheTask) {
  const auto chunk = this->chunk();
  const ad::Point second = environment_->point(grid_.tasks[1]);

  EXPECT_EQ(chunk.numbers<std::int32_t>("goal_x")[0], second.x);
  EXPECT_EQ(chunk.numbers<std::int32_t>("goal_y")[0], second.y);
  EXPECT_EQ(chunk.numbers<std::int32_t>("goal_x")[4], environment_->point(grid_.tasks[0]).x);
  EXPECT_EQ(chunk.numbers<std::int32_t>("optimal")[0],
            environment_->optimal_return(grid_.tasks[1]));
}

TEST_F(AdSamplesTest, ThePathIsThatOfTheEpisode) {
  const auto paths = chunk().lists<std::uint8_t>("path");

  ASSERT_THAT(paths, SizeIs(8));
  EXPECT_THAT(paths, Each(SizeIs(horizon_)));
  EXPECT_THAT(paths[0], Each(0));
  EXPECT_THAT(paths[1], Each(2));
  EXPECT_THAT(paths[7], Each(5));
}

/// Returns a column as the store reads it from a file.
template <class T>
store::ReadColumn column_of(const std::string& name, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {{name, store::column_type<T>(), 1, "", ""}, {bytes.begin(), bytes.end()}};
}

TEST_F(AdSamplesTest, AResultHasMeansByControlAndWalksOfTheFirstRuns) {
  std::vector<std::int32_t> returns;
  std::vector<std::uint8_t> cells;
  std::vector<std::int64_t> offsets{0};
  for (const ad::RolloutRecord& record : records_)
    for (std::size_t e = 0; e < 2; ++e) {
      returns.push_back(record.returns[e]);
      const auto begin = record.path.begin() + static_cast<std::ptrdiff_t>(e * horizon_);
      cells.insert(cells.end(), begin, begin + environment_->horizon());
      offsets.push_back(std::ssize(cells));
    }
  const store::ReadTable samples{16, 0, {column_of("return", returns)}};
  const store::ReadLists paths{column_of("offsets", offsets), column_of("values", cells)};

  const EvaluationResult result = result_of(samples, paths, grid_, *environment_);

  EXPECT_THAT(result.returns, ElementsAre(ElementsAre(1.5, 15.0), ElementsAre(5.5, 55.0)));
  ASSERT_THAT(result.by_task, SizeIs(2));
  EXPECT_THAT(result.by_task[0], SizeIs(2));
  for (std::size_t control = 0; control < 2; ++control) {
    const auto& tasks = result.by_task[control];
    ASSERT_THAT(tasks, SizeIs(2));
    EXPECT_DOUBLE_EQ((tasks[0][1] + tasks[1][1]) / 2.0, result.returns[control][1]);
  }
  ASSERT_THAT(result.walks, SizeIs(2));  // run 0 of each task without a control
  const ad::Point goal = environment_->point(grid_.tasks[1]);
  EXPECT_EQ(result.walks[1].goal, std::pair(goal.x, goal.y));
  const ad::Point start = environment_->point(environment_->start_state());
  const auto& last = result.walks[1].last;
  ASSERT_THAT(last, SizeIs(horizon_ + 1));
  EXPECT_EQ(last.front(), std::pair(start.x, start.y));
  EXPECT_EQ(last.back(), std::pair(environment_->point(2).x, environment_->point(2).y));
  EXPECT_EQ(result.walks[1].first_return, 2.0);
  EXPECT_EQ(result.walks[1].last_return, 20.0);
}

TEST(TrainTableTest, HasTheStepsThatWereDone) {
  TrainCurves curves(5, 0, {});
  for (std::int64_t step = 0; step < 5; ++step)
    curves.add_step(step, {1.0 / static_cast<double>(step + 1), 0.5, 1e-3, 2.0});

  const store::SmallTable table = train_table(curves, 3);
  const store::test::ChunkValues rows(table.spec, table.rows);

  EXPECT_EQ(table.spec.path, "metrics/train");
  EXPECT_EQ(table.spec.signal, "loss");
  EXPECT_THAT(rows.numbers<std::int64_t>("step"), ElementsAre(1, 2, 3));
  EXPECT_THAT(rows.numbers<double>("loss"), ElementsAre(1.0, 0.5, 1.0 / 3.0));
  EXPECT_THAT(rows.numbers<double>("accuracy"), Each(0.5));
  EXPECT_THAT(rows.numbers<double>("learning_rate"), Each(1e-3));
  EXPECT_THAT(rows.numbers<double>("grad_norm"), Each(2.0));
}

TEST(IntervalTest, IsWhereMeansOfDrawnGoalsAre) {
  // The mean of 8 draws from {10 - 2, 10 + 2} has standard error 2 / sqrt(8) = 0.71.
  std::vector<EpisodeReturns> by_task;
  for (int task = 0; task < 8; ++task)
    by_task.push_back({task % 2 == 0 ? 8.0 : 12.0, 5.0});

  const auto [low, high] = band_of(by_task);

  EXPECT_NEAR(low[0], 10.0 - 1.96 * 0.71, 0.5);
  EXPECT_NEAR(high[0], 10.0 + 1.96 * 0.71, 0.5);
  EXPECT_EQ(low[1], 5.0);
  EXPECT_EQ(high[1], 5.0);
}

TEST(IntervalTest, FewGoalsHaveNone) {
  EXPECT_THAT(band_of({{8.0}, {12.0}}).low, IsEmpty());
}

TEST(ReturnsByTaskTest, AreTheMeansOfEachTasksHistories) {
  const auto room = ad::make_environment("darkroom", 0);
  const ad::HistoryShape shape{2, 3, room->horizon()};
  ad::HistorySet histories(*room, shape, 0, 4);  // two streams of each of two tasks
  histories.slot(0).reward[0] = 1;
  histories.slot(1).reward[1] = 1;
  histories.slot(3).reward[static_cast<std::size_t>(room->horizon())] = 1;

  EXPECT_THAT(returns_by_task(histories),
              ElementsAre(ElementsAre(1.0, 0.0, 0.0), ElementsAre(0.0, 0.5, 0.0)));
}

TEST(MeanTest, IsThatOfTheEpisodes) {
  EXPECT_EQ(mean({1.0, 2.0, 6.0}), 3.0);
}

TrainSizes sizes_of(Keys keys) {
  keys.emplace("job", "train");
  keys.emplace("data.streams", "2");
  keys.emplace("data.episodes", "3");
  keys.emplace("evaluate.runs", "4");
  keys.emplace("evaluate.episodes", "5");
  return TrainSizes(read_ad_settings(config_of(keys)));
}

TEST(TrainSizesTest, FollowFromTheKeys) {
  const TrainSizes sizes = sizes_of({{"train.max_steps", "100"}, {"train.eval_every", "30"}});
  const auto tests = std::ssize(sizes.environment->test_tasks());
  const auto trainings = std::ssize(sizes.environment->train_tasks());
  const std::int64_t horizon = sizes.environment->horizon();

  EXPECT_EQ(sizes.num_histories, 2 * trainings);
  EXPECT_EQ(sizes.num_rollouts, 3 * tests * 4);  // three controls
  // A row has four numbers of 4 bytes, the id, and three bytes for each step.
  EXPECT_EQ(sizes.history_bytes, sizes.num_histories * (4 * 4 + 8 + 3 * 3 * horizon));
  // A step has four numbers. The model is evaluated after 30, 60 and 90 steps, and each evaluation
  // has its step and five returns.
  EXPECT_EQ(sizes.curve_bytes, 8 * (100 * 4 + 3 * (1 + 5)));
}

TEST(TrainSizesTest, WithoutControlsAThirdIsPlayed) {
  EXPECT_EQ(3 * sizes_of({{"evaluate.controls", "false"}}).num_rollouts, sizes_of({}).num_rollouts);
}

TEST(TrainSizesTest, ARankHasItsPartOfTheBatch) {
  const TrainSizes sizes = sizes_of({{"train.global_batch_size", "64"}, {"train.lanes", "8"}});
  EXPECT_GE(sizes.rows_at_once(1, DeviceKind::cpu), sizes.rows_at_once(4, DeviceKind::cpu));
  EXPECT_LE(sizes.rows_at_once(8, DeviceKind::cpu), 8);
}

TEST(TrainSizesTest, OperationsGrowWithTokensAndContext) {
  const TrainSizes sizes = sizes_of({{"model.tf_n_embd", "16"},
                                     {"model.tf_n_layer", "2"},
                                     {"model.tf_n_head", "2"},
                                     {"model.tf_n_inner", "32"}});
  // A token takes 4 D^2 + 2 D I + context * D multiply-adds per layer.
  EXPECT_EQ(sizes.forward_flops(10, 0), 2.0 * 10 * 2 * (4 * 16 * 16 + 2 * 16 * 32));
  EXPECT_EQ(sizes.forward_flops(10, 100) - sizes.forward_flops(10, 0), 2.0 * 10 * 2 * 100 * 16);
}

}  // namespace
}  // namespace mgpu::recipes
