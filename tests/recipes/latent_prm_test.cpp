// Tests the reward head for latent states: its gradients, the pairs of nodes, and what it learns.
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/phase_clock.hpp>
#include <mgpu/train/adamw.hpp>

#include "recipes/prm/latent_objective.hpp"

namespace mgpu::recipes {
namespace {

using testing::ElementsAre;
using testing::Pair;

/// Returns nodes with random states, four of each question. The label of a node is 1 if its first
/// state is positive, otherwise 0.
LatentNodes planted(std::int64_t count, std::int64_t width) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(5);
  const at::Tensor states = at::randn({count, width}, generator, at::kFloat);
  LatentNodes nodes{.width = width};
  const float* value = states.const_data_ptr<float>();
  nodes.states.assign(value, value + count * width);
  for (std::int64_t node = 0; node < count; ++node) {
    nodes.labels.push_back(value[node * width] > 0.0F ? 1.0 : 0.0);
    nodes.questions.push_back(node / 4);
  }
  return nodes;
}

TEST(NodePairsTest, ThePairsOfAQuestionHaveDifferentLabels) {
  LatentNodes nodes{.width = 1};
  nodes.states.assign(7, 0.0F);
  nodes.labels = {0.2, 0.9, 0.5, 0.1, 0.7, 0.7, 0.7};
  nodes.questions = {3, 3, 3, 3, 4, 4, 4};
  EXPECT_THAT(node_pairs(nodes), ElementsAre(Pair(1, 3), Pair(2, 0)));
}

/// Returns the mean loss of all nodes or pairs by ATen, with a graph to the weights of the head.
at::Tensor reference_loss(const LatentHead& head, const LatentNodes& nodes, PrmLossKind kind) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(nodes.size()));
  for (std::size_t node = 0; node < all.size(); ++node)
    all[node] = static_cast<std::int64_t>(node);
  const at::Tensor logits = head.forward(states_of_nodes(nodes, all));
  const at::Tensor labels = at::tensor(nodes.labels, at::kFloat);
  if (kind == PrmLossKind::bce) return at::binary_cross_entropy_with_logits(logits, labels);
  if (kind == PrmLossKind::mse) return at::mse_loss(logits.sigmoid(), labels);
  std::vector<at::Tensor> losses;
  for (const auto& [better, worse] : node_pairs(nodes))
    losses.push_back(-at::log_sigmoid(logits[better] - logits[worse]));
  return at::stack(losses).mean();
}

class LatentObjectiveTest : public testing::TestWithParam<PrmLossKind> {};

TEST_P(LatentObjectiveTest, HasTheLossAndTheGradientsOfATen) {
  const LatentNodes nodes = planted(40, 6);
  LatentHead head({6, 3}, Device{}, 1);
  PhaseClock clock;
  LatentObjective objective(head, nodes, {.kind = GetParam()}, clock);
  const at::Tensor loss = reference_loss(head, nodes, GetParam());
  head.parameters().zero_gradients();
  loss.backward();
  const at::Tensor expected = head.parameters().gradients().clone();
  head.parameters().zero_gradients();
  const auto items = static_cast<std::int64_t>(objective.epoch_size());
  // Two passes add up to the epoch.
  const double scale = 1.0 / static_cast<double>(items);
  train::PassSums sums = objective.add_gradients(0, 5, scale);
  const train::PassSums rest = objective.add_gradients(5, items - 5, scale);
  EXPECT_EQ(sums.predictions + rest.predictions, items);
  EXPECT_NEAR((sums.loss + rest.loss) * scale, loss.item<double>(), 1e-6);
  EXPECT_TRUE(at::allclose(head.parameters().gradients(), expected, 1e-4, 1e-6));
}

INSTANTIATE_TEST_SUITE_P(Losses, LatentObjectiveTest,
                         testing::Values(PrmLossKind::bce, PrmLossKind::mse,
                                         PrmLossKind::pairwise));

TEST(LatentObjectiveTest, EachEpochVisitsEachNodeOnceInAnotherOrder) {
  const LatentNodes nodes = planted(8, 2);
  LatentHead head({2, 2}, Device{}, 1);
  PhaseClock clock;
  LatentObjective objective(head, nodes, {}, clock);
  const double whole = objective.add_gradients(0, 8, 1.0).loss;
  EXPECT_NEAR(objective.add_gradients(8, 8, 1.0).loss, whole, 1e-9);
  EXPECT_NE(objective.add_gradients(0, 1, 1.0).loss, objective.add_gradients(8, 1, 1.0).loss);
}

TEST(LatentObjectiveTest, PairsNeedNodesWithDifferentLabels) {
  LatentNodes nodes = planted(8, 2);
  nodes.labels.assign(8, 1.0);
  LatentHead head({2, 2}, Device{}, 1);
  PhaseClock clock;
  EXPECT_THROW(LatentObjective(head, nodes, {.kind = PrmLossKind::pairwise}, clock), Failure);
}

}  // namespace
}  // namespace mgpu::recipes
