#include "step_tree.hpp"

#include <cmath>
#include <utility>

#include <mgpu/base/error.hpp>

namespace mgpu::jobs {
namespace {

Visits visits_of_root(std::span<const PathAnswers> paths) {
  Visits visits;
  for (const PathAnswers& path : paths) {
    ++visits.count;
    visits.right += path.is_right ? 1 : 0;
  }
  return visits;
}

/// Returns the number of answers that decide the value of step `step` of a path, and how many of
/// them are right. Steps count from 0. `rollouts` is the number of rollouts of a step.
Visits visits_of_step(StepLabel label, std::int64_t rollouts, const PathAnswers& path,
                      std::size_t step) {
  const std::int32_t own = path.is_right ? 1 : 0;
  if (step == path.right_rollouts.size()) return {1, own};
  const Visits of_rollouts{static_cast<std::int32_t>(rollouts), path.right_rollouts[step]};
  if (label != StepLabel::monte_carlo) return of_rollouts;
  return {of_rollouts.count + 1, of_rollouts.right + own};
}

}  // namespace

const char* name_of(StepLabel label) {
  switch (label) {
    case StepLabel::math_shepherd_hard:
      return "math_shepherd_hard";
    case StepLabel::math_shepherd_soft:
      return "math_shepherd_soft";
    case StepLabel::omega_prm:
      return "omega_prm";
    case StepLabel::monte_carlo:
      break;
  }
  return "monte_carlo";
}

StepNode make_node(StepLabel label, std::int32_t path, std::int32_t step, const Visits& visits) {
  return {path, step, -1, visits, value_of(label, visits), standard_error_of(visits)};
}

double value_of(StepLabel label, const Visits& visits) {
  if (label == StepLabel::math_shepherd_hard) return visits.right > 0 ? 1.0 : 0.0;
  return visits.share();
}

double standard_error_of(const Visits& visits) {
  const double share = visits.share();
  return std::sqrt(share * (1.0 - share) / visits.count);
}

StepTree with_children(std::vector<StepNode> nodes) {
  StepTree tree{std::move(nodes), {}, {}};
  tree.child_offsets.assign(tree.nodes.size() + 1, 0);
  for (std::size_t n = 1; n < tree.nodes.size(); ++n)
    ++tree.child_offsets[static_cast<std::size_t>(tree.nodes[n].parent) + 1];
  for (std::size_t n = 0; n < tree.nodes.size(); ++n)
    tree.child_offsets[n + 1] += tree.child_offsets[n];
  std::vector<std::int32_t> next(tree.child_offsets.begin(), tree.child_offsets.end() - 1);
  tree.children.resize(tree.nodes.size() - 1);
  for (std::size_t n = 1; n < tree.nodes.size(); ++n) {
    std::int32_t& place = next[static_cast<std::size_t>(tree.nodes[n].parent)];
    tree.children[static_cast<std::size_t>(place++)] = static_cast<std::int32_t>(n);
  }
  return tree;
}

StepTree make_step_tree(StepLabel label, std::int64_t rollouts,
                        std::span<const PathAnswers> paths) {
  if (paths.empty()) throw Error("a tree of steps without paths");
  std::vector<StepNode> nodes;
  nodes.push_back(make_node(label, -1, 0, visits_of_root(paths)));
  for (std::size_t p = 0; p < paths.size(); ++p) {
    std::int32_t parent = 0;
    for (std::size_t s = 0; s <= paths[p].right_rollouts.size(); ++s) {
      nodes.push_back(make_node(label, static_cast<std::int32_t>(p),
                                static_cast<std::int32_t>(s + 1),
                                visits_of_step(label, rollouts, paths[p], s)));
      nodes.back().parent = parent;
      parent = static_cast<std::int32_t>(nodes.size() - 1);
    }
  }
  return with_children(std::move(nodes));
}

}  // namespace mgpu::jobs
