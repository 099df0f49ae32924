#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/cluster/communicator.hpp>
#include <mgpu/lm/training/lm_objective.hpp>
#include <mgpu/tensor/tensor_view.hpp>
#include <mgpu/train/train_loop.hpp>

#include "dense_llama.hpp"

namespace mgpu::lm {

inline constexpr std::int64_t kVocab = 97;

inline const cluster::Group& world() {
  static const cluster::Group group = cluster::Group::world();
  return group;
}

inline const cluster::Group& alone() {
  static const cluster::Group group = world().split(world().rank(), 0);
  return group;
}

/// The results of three steps.
struct Trained {
  at::Tensor weights;
  std::vector<double> losses;
  std::vector<double> accuracies;
  int repeated = 0;  // steps whose gradient was computed a second time
};

/// Returns the shape of a batch with `items` items per lane and one lane per rank, but at least two
/// lanes. Groups larger than a lane span several lanes, passes and ranks.
inline train::BatchShape lanes_of(std::int64_t items) {
  const std::int64_t lanes = std::max(world().size(), 2);
  return {lanes * items, 1, lanes, 1, true};
}

/// Runs three steps of a model with kVocab tokens. Ranks: collective over `group`.
inline Trained train(const cluster::Group& group, const TokenLoss& loss, LmItems& items,
                     const TrainingOptions& options, const train::BatchShape& shape) {
  TrainableModel model = dense_model(options, kVocab);
  PhaseClock clock;
  LmObjective objective(model, items, loss, clock);
  const auto communicator = cluster::make_communicator(group, cluster::Backend::mpi, {}, {});
  train::GradientArena arena{tensor::view_of(model.parameters().gradients()), {}, nullptr};
  for (std::size_t p = 0; p < model.parameters().size(); ++p)
    arena.parameters.push_back({static_cast<std::size_t>(model.parameters().span(p).begin),
                                static_cast<std::size_t>(model.parameters().span(p).count)});
  train::Adamw optimizer(model.parameters(), {});
  train::LossScaler scaler(false);
  train::GradientReducer reducer(*communicator, arena,
                                 {.lanes = shape.layout ? static_cast<int>(shape.lanes) : 0});
  train::TrainLoop loop({objective, optimizer, scaler, reducer, group, clock}, {.batch = shape},
                        {train::LrShape::constant, 1e-2, 0, 3});
  Trained trained;
  for (std::int64_t step = 0; step < 3; ++step) {
    const train::StepOutcome outcome = loop.step(step, false);
    trained.losses.push_back(outcome.row.loss);
    trained.accuracies.push_back(outcome.row.accuracy);
    trained.repeated += outcome.was_repeated ? 1 : 0;
  }
  trained.weights = model.parameters().weights().clone();
  return trained;
}

inline Trained train(const cluster::Group& group, const TokenLoss& loss, const LmExamples& examples,
                     const TrainingOptions& options, const train::BatchShape& shape) {
  const LmWindows windows(examples, 16, 5);
  WindowItems items(windows);
  return train(group, loss, items, options, shape);
}

inline void expect_equal(const Trained& together, const Trained& apart) {
  EXPECT_EQ(together.losses, apart.losses);
  EXPECT_EQ(together.accuracies, apart.accuracies);
  EXPECT_TRUE(at::equal(together.weights, apart.weights));
}

}  // namespace mgpu::lm
