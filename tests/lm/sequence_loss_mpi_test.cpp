// Losses of groups whose members lie on several ranks, against one rank.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/cluster/communicator.hpp>
#include <mgpu/tensor/tensor_view.hpp>
#include <mgpu/train/train_loop.hpp>

#include "dense_llama.hpp"
#include "example_losses.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kVocab = 97;

const cluster::Group& world() {
  static const cluster::Group group = cluster::Group::world();
  return group;
}

const cluster::Group& alone() {
  static const cluster::Group group = world().split(world().rank(), 0);
  return group;
}

struct Trained {
  at::Tensor weights;
  std::vector<double> losses;
  std::vector<double> accuracies;
};

/// Lanes of so many items, one for each rank, or two: groups that they cannot hold whole cross
/// lanes, passes and ranks.
train::BatchShape lanes_of(std::int64_t items) {
  const std::int64_t lanes = std::max(world().size(), 2);
  return {lanes * items, 1, lanes, 1, true};
}

/// Three steps.
Trained train(const cluster::Group& group, const TokenLoss& loss, const LmExamples& examples,
              const TrainingOptions& options, const train::BatchShape& shape) {
  TrainableModel model = dense_model(options, kVocab);
  const LmWindows windows(examples, 16, 5);
  WindowItems items(windows);
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
    const train::StepRow row = loop.step(step, false).row;
    trained.losses.push_back(row.loss);
    trained.accuracies.push_back(row.accuracy);
  }
  trained.weights = model.parameters().weights().clone();
  return trained;
}

void expect_equal(const Trained& together, const Trained& apart) {
  EXPECT_EQ(together.losses, apart.losses);
  EXPECT_EQ(together.accuracies, apart.accuracies);
  EXPECT_TRUE(at::equal(together.weights, apart.weights));
}

TEST(SequenceLossMpiTest, GroupsOverRanksGiveTheBitsOfOneRank) {
  const LmExamples examples = grouped_examples(40, 4, kVocab);

  const Trained together = train(world(), GroupLoss(), examples, {}, lanes_of(6));
  const Trained apart = train(alone(), GroupLoss(), examples, {}, lanes_of(6));

  expect_equal(together, apart);
  EXPECT_FALSE(at::equal(together.weights, dense_model({}, kVocab).parameters().weights()));
}

TEST(SequenceLossMpiTest, PairsOverRanksGiveTheBitsOfOneRank) {
  const LmExamples examples = grouped_examples(16, 2, kVocab);

  expect_equal(train(world(), DpoLoss(0.3), examples, {}, lanes_of(3)),
               train(alone(), DpoLoss(0.3), examples, {}, lanes_of(3)));
}

TEST(SequenceLossMpiTest, AHeadOfItsOwnIsTrainedTogether) {
  const LmExamples examples = grouped_examples(16, 2, kVocab);
  const TrainingOptions options{.head = ModelHead{.replaces_vocabulary = true}};

  const Trained together = train(world(), PairLoss(), examples, options, lanes_of(3));

  expect_equal(together, train(alone(), PairLoss(), examples, options, lanes_of(3)));
  EXPECT_FALSE(at::equal(together.weights, dense_model(options, kVocab).parameters().weights()));
}

TEST(SequenceLossMpiTest, PlainSumsOverRanksComeNear) {
  const LmExamples examples = grouped_examples(16, 4, kVocab);
  const train::BatchShape shape{8, 3, 1, 1, false};

  const Trained together = train(world(), GroupLoss(), examples, {}, shape);
  const Trained apart = train(alone(), GroupLoss(), examples, {}, shape);

  for (std::size_t step = 0; step < 3; ++step)
    EXPECT_NEAR(together.losses[step], apart.losses[step], 1e-5);
}

}  // namespace
}  // namespace mgpu::lm
