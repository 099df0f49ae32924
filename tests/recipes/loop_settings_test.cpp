#include <gtest/gtest.h>

#include <mgpu/recipes/loop_settings.hpp>

namespace mgpu::recipes {
namespace {

LoopSettings settings_of(std::int64_t max_steps, std::int64_t eval_every, bool at_last_step) {
  LoopSettings settings;
  settings.optimizer.schedule.max_steps = max_steps;
  settings.train.eval_every = eval_every;
  settings.evaluation_values = {"loss"};
  settings.evaluates_last_step = at_last_step;
  return settings;
}

std::vector<std::int64_t> evaluated_steps(const LoopSettings& settings) {
  std::vector<std::int64_t> steps;
  for (std::int64_t done = 1; done <= settings.optimizer.schedule.max_steps; ++done)
    if (settings.evaluates_after(done)) steps.push_back(done);
  return steps;
}

TEST(LoopSettingsTest, TheLastStepIsEvaluatedOnceWhereTheJobAsksForIt) {
  using Steps = std::vector<std::int64_t>;

  EXPECT_EQ(evaluated_steps(settings_of(20, 8, true)), (Steps{8, 16, 20}));
  EXPECT_EQ(evaluated_steps(settings_of(20, 10, true)), (Steps{10, 20}));
  EXPECT_EQ(evaluated_steps(settings_of(20, 1000, true)), (Steps{20}));
  EXPECT_EQ(evaluated_steps(settings_of(20, 0, true)), (Steps{20}));
  EXPECT_EQ(evaluated_steps(settings_of(20, 8, false)), (Steps{8, 16}));
  EXPECT_EQ(evaluated_steps(settings_of(20, 0, false)), (Steps{}));
}

TEST(LoopSettingsTest, AsManyEvaluationsArePlannedAsAreMade) {
  for (const bool at_last_step : {false, true})
    for (const std::int64_t every : {0, 1, 3, 7, 20, 21}) {
      const LoopSettings settings = settings_of(20, every, at_last_step);
      EXPECT_EQ(settings.planned_evaluations(), std::ssize(evaluated_steps(settings))) << every;
    }
}

TEST(LoopSettingsTest, WhatGivesNoNumbersIsNeverEvaluated) {
  LoopSettings settings = settings_of(20, 4, true);
  settings.evaluation_values = {};

  EXPECT_EQ(settings.planned_evaluations(), 0);
  EXPECT_TRUE(evaluated_steps(settings).empty());
}

}  // namespace
}  // namespace mgpu::recipes
