#pragma once

#include <cstdint>
#include <span>
#include <vector>

// The tree of a question has the solutions of the question (called paths), the steps of each path,
// and a value for each step.
namespace mgpu::jobs {

/// How the value of a step is computed from the answers of its rollouts (collect.label). A rollout
/// completes the path from the end of the step.
enum class StepLabel : std::uint8_t {
  monte_carlo,         // share of right answers among the rollouts and the path itself
  math_shepherd_hard,  // 1 if the answer of any rollout is right, else 0
  math_shepherd_soft,  // share of right answers among the rollouts
  omega_prm,           // share of right answers among the rollouts; only the steps that
                       // OmegaSearch chooses have rollouts
};

/// Returns "monte_carlo", "math_shepherd_hard", "math_shepherd_soft" or "omega_prm".
const char* name_of(StepLabel label);

/// The number of answers that count for a node of the tree, and how many of them are right.
struct Visits {
  std::int32_t count = 0;
  std::int32_t right = 0;

  double share() const { return static_cast<double>(right) / count; }
};

/// Returns the value of a node. visits.count must not be 0.
/// Source: hard and soft estimation in Wang et al., Math-Shepherd, arXiv 2312.08935, 3.3.
double value_of(StepLabel label, const Visits& visits);

/// Returns the standard error of visits.share() as a binomial share: sqrt(p (1 - p) / count), with
/// p = visits.share(). visits.count must not be 0.
double standard_error_of(const Visits& visits);

/// The answers of one path. All steps but the last have rollouts.
struct PathAnswers {
  bool is_right = false;                     // whether the answer of the path is right
  std::vector<std::int32_t> right_rollouts;  // number of right rollouts of each step but the last
};

/// A node stands for the question (the root), or for a path up to the end of one of its steps.
struct StepNode {
  std::int32_t path = -1;    // index of a solution with this step; -1: root, or no solution has it
  std::int32_t step = 0;     // number of steps of the path up to this node; 0: root
  std::int32_t parent = -1;  // index of the parent in StepTree::nodes; -1: root
  Visits visits{};
  double value = 0.0;
  double standard_error = 0.0;
};

/// Makes a node without a parent.
StepNode make_node(StepLabel label, std::int32_t path, std::int32_t step, const Visits& visits);

/// The nodes of a question. The root is the first. A child has a higher index than its parent.
struct StepTree {
  std::vector<StepNode> nodes;
  /// The lists of children of all nodes in one array (CSR format). The children of node n are
  /// children[child_offsets[n]] to children[child_offsets[n + 1] - 1].
  std::vector<std::int32_t> child_offsets;  // [nodes + 1]
  std::vector<std::int32_t> children;       // [nodes - 1]
};

/// Makes a tree from nodes whose StepNode::parent is set, by adding the lists of children. The
/// children of a node have the same order as in `nodes`.
StepTree with_children(std::vector<StepNode> nodes);

/// Makes the tree of a question. Each step of a path except its last step has `rollouts` rollouts.
/// The value of the root counts the answers of all paths. The value of a step counts the answers of
/// its rollouts. The value of the last step of a path counts only the answer of the path. With
/// monte_carlo, each step also counts the answer of its path, because the rest of the path is a
/// draw from the same distribution as a rollout.
/// Errors: Error if `paths` is empty.
StepTree make_step_tree(StepLabel label, std::int64_t rollouts, std::span<const PathAnswers> paths);

}  // namespace mgpu::jobs
