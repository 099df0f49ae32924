// Tests trees of steps and the values of their nodes against closed forms.
#include "jobs/collect/step_tree.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/random_streams.hpp>

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;

// The first path is right and has three steps. The second path is wrong and has one step.
const std::vector<PathAnswers> kPaths = {{true, {1, 3}}, {false, {}}};
constexpr std::int64_t kRollouts = 4;

std::vector<double> values_of(StepLabel label) {
  std::vector<double> values;
  for (const StepNode& node : make_step_tree(label, kRollouts, kPaths).nodes)
    values.push_back(node.value);
  return values;
}

TEST(StepTreeTest, ANodeForTheQuestionAndForEachStep) {
  const StepTree tree = make_step_tree(StepLabel::monte_carlo, kRollouts, kPaths);
  std::vector<std::vector<std::int32_t>> nodes;
  for (const StepNode& node : tree.nodes)
    nodes.push_back({node.path, node.step, node.parent});
  EXPECT_THAT(nodes, ElementsAre(ElementsAre(-1, 0, -1), ElementsAre(0, 1, 0), ElementsAre(0, 2, 1),
                                 ElementsAre(0, 3, 2), ElementsAre(1, 1, 0)));
}

TEST(StepTreeTest, ChildrenAreCompressedRowsOfTheParents) {
  const StepTree tree = make_step_tree(StepLabel::monte_carlo, kRollouts, kPaths);
  EXPECT_THAT(tree.child_offsets, ElementsAre(0, 2, 3, 4, 4, 4));
  EXPECT_THAT(tree.children, ElementsAre(1, 4, 2, 3));
}

TEST(StepTreeTest, ValuesAreThoseOfTheRolloutsAndMonteCarloAddsThePathsOwnEnd) {
  EXPECT_THAT(values_of(StepLabel::monte_carlo), ElementsAre(0.5, 2.0 / 5, 4.0 / 5, 1.0, 0.0));
  EXPECT_THAT(values_of(StepLabel::math_shepherd_soft), ElementsAre(0.5, 0.25, 0.75, 1.0, 0.0));
  EXPECT_THAT(values_of(StepLabel::math_shepherd_hard), ElementsAre(1.0, 1.0, 1.0, 1.0, 0.0));
}

TEST(StepTreeTest, StandardErrorsAreThoseOfAShare) {
  const StepTree tree = make_step_tree(StepLabel::math_shepherd_hard, kRollouts, kPaths);
  EXPECT_DOUBLE_EQ(tree.nodes[0].standard_error, std::sqrt(0.5 * 0.5 / 2));
  EXPECT_DOUBLE_EQ(tree.nodes[1].standard_error, std::sqrt(0.25 * 0.75 / 4));
  EXPECT_EQ(tree.nodes[3].standard_error, 0.0);  // one answer
  EXPECT_EQ(tree.nodes[1].visits.count, 4);
  EXPECT_EQ(tree.nodes[1].visits.right, 1);
}

TEST(StepTreeTest, WithoutPathsThereIsNoTree) {
  EXPECT_THROW(make_step_tree(StepLabel::monte_carlo, kRollouts, {}), Error);
}

/// Returns the root mean square error of the value of a path's first step, and the standard error
/// of a share of `visits` answers. Each path has two steps. A rollout is right with a known
/// probability, which differs between questions.
std::pair<double, double> error_and_bound(StepLabel label, int visits) {
  constexpr int kQuestions = 4000;
  double squares = 0.0;
  double variances = 0.0;
  for (std::uint64_t q = 0; q < kQuestions; ++q) {
    const RandomStream draws(3, Purpose::source, 0, q);
    const double p = draws.uniform(100);
    const auto is_right = [&](std::uint64_t draw) { return draws.uniform(draw) < p; };
    PathAnswers path{is_right(0), {0}};
    for (std::uint64_t r = 1; r <= 8; ++r)
      path.right_rollouts[0] += is_right(r) ? 1 : 0;
    const StepTree tree = make_step_tree(label, 8, {&path, 1});
    squares += std::pow(tree.nodes[1].value - p, 2);
    variances += p * (1.0 - p) / visits;
  }
  return {std::sqrt(squares / kQuestions), std::sqrt(variances / kQuestions)};
}

TEST(StepTreeTest, ErrorsAreThoseOfBinomialShares) {
  const auto [soft, soft_bound] = error_and_bound(StepLabel::math_shepherd_soft, 8);
  EXPECT_NEAR(soft / soft_bound, 1.0, 0.05);
  const auto [own, own_bound] = error_and_bound(StepLabel::monte_carlo, 9);
  EXPECT_NEAR(own / own_bound, 1.0, 0.05);
}

}  // namespace
}  // namespace mgpu::jobs
