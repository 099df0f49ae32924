// Tests curves and state of a training, and how a checkpoint restores them.
#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "app/tiny_run.hpp"
#include "recipes/train_state.hpp"

namespace mgpu::recipes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TrainCurvesTest, StepsAreWhatWasAdded) {
  TrainCurves curves(3, 1, {"a", "b"});
  curves.add_step(1, {0.5, 0.25, 1e-3, 4.0});

  EXPECT_EQ(curves.step(1).loss, 0.5);
  EXPECT_EQ(curves.step(1).accuracy, 0.25);
  EXPECT_EQ(curves.step(1).learning_rate, 1e-3);
  EXPECT_EQ(curves.step(1).grad_norm, 4.0);
  EXPECT_EQ(curves.step(0).loss, 0.0);
  EXPECT_THAT(curves.step_table().sizes(), ElementsAre(3, 4));
}

TEST(TrainCurvesTest, CrossEntropiesAreKeptIfTheLossHasThem) {
  TrainCurves without(2, 0, {});
  without.add_step(0, {.loss = 0.5, .cross_entropy = 0.75});
  EXPECT_FALSE(without.has_cross_entropy());
  EXPECT_EQ(without.step(0).cross_entropy, 0.0);

  TrainCurves with(2, 0, {}, true);
  with.add_step(1, {.loss = 0.5, .cross_entropy = 0.75});
  EXPECT_TRUE(with.has_cross_entropy());
  EXPECT_EQ(with.step(1).cross_entropy, 0.75);
}

TEST(TrainCurvesTest, ValuesOfARecipeAreKeptWithTheirStep) {
  TrainCurves curves(3, 0, {}, false, {{"a", "a", "first"}, {"b", "b", "second"}});
  curves.add_step(1, {.loss = 0.5}, std::vector{1.0, 2.0});

  EXPECT_EQ(curves.step_value(1, 0), 1.0);
  EXPECT_EQ(curves.step_value(1, 1), 2.0);
  EXPECT_EQ(curves.step_value(0, 1), 0.0);
  EXPECT_EQ(curves.step_values()[1].text, "second");
  EXPECT_THROW(curves.add_step(2, {}), Error);
  EXPECT_THROW(curves.add_step(2, {}, std::vector{1.0}), Error);
}

TEST(TrainCurvesTest, EvaluationsFollowOneAnother) {
  TrainCurves curves(3, 3, {"a", "b"});
  EXPECT_EQ(curves.evaluations(), 0);
  curves.add_evaluation(10, {{"a", 1.0}, {"b", 2.0}});
  curves.add_evaluation(20, {{"b", 4.0}, {"a", 3.0}});

  EXPECT_EQ(curves.evaluations(), 2);
  EXPECT_EQ(curves.evaluated_at(1), 20);
  EXPECT_EQ(curves.value(0, "b"), 2.0);
  EXPECT_EQ(curves.value(1, "a"), 3.0);
  EXPECT_EQ(curves.value(1, "b"), 4.0);
  EXPECT_THROW(curves.value(1, "c"), Error);
  EXPECT_THROW(curves.add_evaluation(30, {{"a", 1.0}}), Error);
  EXPECT_THROW(curves.add_evaluation(30, {{"a", 1.0}, {"c", 2.0}}), Error);
  curves.add_evaluation(30, {{"a", 5.0}, {"b", 6.0}});
  EXPECT_THROW(curves.add_evaluation(40, {{"a", 1.0}, {"b", 2.0}}), Error);  // it has room for 3
}

/// A training with two small parameters.
struct Training {
  explicit Training(std::uint64_t seed)
      : parameters({{.name = "w", .shape = {2, 3}, .init_std = 1.0, .decays = true},
                    {.name = "b", .shape = {3}, .init_value = 1.0}},
                   Device{}, seed),
        optimizer(parameters, {}) {}

  /// Does one update, and adds the step to the curves and to the count of steps.
  void step() {
    at::Tensor(parameters.gradients()).fill_(0.5);
    optimizer.step(0.1);
    curves.add_step(state.steps_done, {0.5, 0.25, 0.1, 2.0, 0.75}, std::vector{3.5});
    ++state.steps_done;
  }

  /// Returns whether the parameters have the same bits. The gaps between them do not matter.
  bool has_weights_of(const Training& other) const {
    return parameters.parameter("w").equal(other.parameters.parameter("w")) &&
           parameters.parameter("b").equal(other.parameters.parameter("b"));
  }

  tensor::ParameterArena parameters;
  train::Adamw optimizer;
  train::LossScaler scaler{true};
  TrainCurves curves{4, 2, {"a"}, true, {{"margin", "margins", "a value"}}};
  TrainState state{parameters, optimizer, scaler, curves};
};

class TrainStateTest : public testing::Test {
protected:
  store::CheckpointStore store() const { return {world_, folder_.path(), {}}; }

  void save(Training& training, bool is_best = false) const {
    training.state.save(store(), 8, is_best);
  }

  const cluster::Group world_ = cluster::Group::world();
  const app::test::SharedFolder folder_{world_};
};

TEST_F(TrainStateTest, WithoutACheckpointNothingChanges) {
  Training training(1);
  const at::Tensor before = training.parameters.weights().clone();

  EXPECT_THAT(training.state.load(store()), IsEmpty());
  EXPECT_EQ(training.state.steps_done, 0);
  EXPECT_TRUE(training.parameters.weights().equal(before));
}

TEST_F(TrainStateTest, WhatWasSavedComesBackInAnotherProcess) {
  Training saved(1);
  saved.step();
  saved.step();
  saved.curves.add_evaluation(2, {{"a", 7.0}});
  saved.scaler.restore({512.0, 3});
  saved.state.best_score = 0.75;
  saved.state.data_crc = 0xFFFFFFFFU;
  saved.state.steps_skipped = 1;
  save(saved, true);

  Training loaded(2);
  EXPECT_FALSE(loaded.has_weights_of(saved));
  EXPECT_THAT(loaded.state.load(store()), IsEmpty());

  EXPECT_EQ(loaded.state.steps_done, 2);
  EXPECT_EQ(loaded.state.steps_skipped, 1);
  EXPECT_EQ(loaded.state.best_score, 0.75);
  EXPECT_EQ(loaded.state.data_crc, 0xFFFFFFFFU);
  EXPECT_EQ(loaded.scaler.state().scale, 512.0);
  EXPECT_EQ(loaded.scaler.state().good_updates, 3);
  EXPECT_EQ(loaded.optimizer.updates(), 2);
  EXPECT_TRUE(loaded.has_weights_of(saved));
  EXPECT_TRUE(loaded.optimizer.first_moment().equal(saved.optimizer.first_moment()));
  EXPECT_TRUE(loaded.optimizer.second_moment().equal(saved.optimizer.second_moment()));
  EXPECT_EQ(loaded.curves.step(1).loss, 0.5);
  EXPECT_EQ(loaded.curves.step(1).cross_entropy, 0.75);
  EXPECT_EQ(loaded.curves.step_value(1, 0), 3.5);
  EXPECT_EQ(loaded.curves.value(0, "a"), 7.0);
}

TEST_F(TrainStateTest, AResumedTrainingGoesOnWithTheSameBits) {
  Training whole(1);
  whole.step();
  save(whole);
  whole.step();

  Training resumed(3);
  resumed.state.load(store());
  resumed.step();

  EXPECT_TRUE(resumed.has_weights_of(whole));
  EXPECT_TRUE(resumed.curves.step_table().equal(whole.curves.step_table()));
}

TEST_F(TrainStateTest, TheNewestCheckpointCounts) {
  Training training(1);
  training.step();
  save(training);
  training.step();
  save(training);

  Training loaded(2);
  loaded.state.load(store());
  EXPECT_EQ(loaded.state.steps_done, 2);
  EXPECT_EQ(loaded.state.best_score, -1.0);  // nothing was evaluated
}

}  // namespace
}  // namespace mgpu::recipes
