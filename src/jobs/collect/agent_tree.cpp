#include "agent_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace mgpu::jobs {
namespace {

/// Facts about the children of a node.
struct OfChildren {
  double values = 0.0;     // sum of the values of the children
  std::int32_t count = 0;  // number of children
  std::int32_t path = -1;  // index of the first answer below the node; -1: no answer
};

std::int32_t depth_of(std::span<const AgentNode> nodes, const AgentNode& node) {
  std::int32_t depth = 0;
  for (const AgentNode* at = &node; at->parent >= 0;
       at = &nodes[static_cast<std::size_t>(at->parent)])
    ++depth;
  return depth;
}

/// Counts the answer of node `answer` in `visits`, once for this node and once for each of its
/// ancestors. The ancestors of a node are its parent, the nodes that merged into it
/// (AgentNode::target), and the ancestors of all these nodes.
void add_answer(std::span<const AgentNode> nodes, std::size_t answer, bool is_right,
                std::vector<Visits>& visits) {
  std::set<std::size_t> seen;
  std::vector<std::size_t> pending{answer};
  while (!pending.empty()) {
    const std::size_t at = pending.back();
    pending.pop_back();
    if (!seen.insert(at).second) continue;
    ++visits[at].count;
    visits[at].right += is_right ? 1 : 0;
    if (nodes[at].parent >= 0) pending.push_back(static_cast<std::size_t>(nodes[at].parent));
    for (std::size_t n = 0; n < nodes.size(); ++n)
      if (nodes[n].target == static_cast<std::int32_t>(at)) pending.push_back(n);
  }
}

std::vector<Visits> visits_of(std::span<const AgentNode> nodes, std::span<const Solution> answers) {
  std::vector<Visits> visits(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (nodes[n].answer >= 0)
      add_answer(nodes, n, answers[static_cast<std::size_t>(nodes[n].answer)].answer.is_right,
                 visits);
  return visits;
}

StepNode node_of(const AgentNode& node, const OfChildren& below, const Visits& visits) {
  StepNode result;
  result.parent = node.parent;
  result.path = node.answer >= 0 ? node.answer : below.path;
  result.visits = visits;
  if (visits.count == 0) return result;
  result.value = node.answer >= 0 ? result.visits.share() : below.values / below.count;
  result.standard_error = standard_error_of(result.visits);
  return result;
}

}  // namespace

StepTree make_agent_tree(std::span<const AgentNode> nodes, std::span<const Solution> answers) {
  const std::vector<Visits> visits = visits_of(nodes, answers);
  std::vector<OfChildren> below(nodes.size());
  std::vector<StepNode> steps(nodes.size());
  for (std::size_t n = nodes.size(); n-- > 0;) {
    const std::size_t target = nodes[n].target < 0 ? n : static_cast<std::size_t>(nodes[n].target);
    steps[n] = node_of(nodes[n], below[target], visits[n]);
    steps[n].step = depth_of(nodes, nodes[n]);
    if (nodes[n].parent < 0) continue;
    OfChildren& parent = below[static_cast<std::size_t>(nodes[n].parent)];
    parent.values += steps[n].value;
    ++parent.count;
    if (steps[n].path >= 0) parent.path = steps[n].path;
  }
  steps.front().path = -1;
  return with_children(std::move(steps));
}

std::vector<rows::TextStep> steps_of_answer(std::span<const AgentNode> nodes,
                                            const AgentNode& judger,
                                            std::span<const std::string> names, std::int64_t width,
                                            std::size_t tokens, std::string text) {
  std::vector<rows::TextStep> steps{{0, tokens, std::move(text)}};
  for (std::int32_t n = judger.parent; n > 0; n = nodes[static_cast<std::size_t>(n)].parent) {
    const AgentNode& node = nodes[static_cast<std::size_t>(n)];
    const std::string made =
        node.latents.empty() ? node.text
                             : std::to_string(std::ssize(node.latents) / width) + " latent steps";
    steps.push_back({0, 0, names[static_cast<std::size_t>(node.agent)] + ": " + made + "\n"});
  }
  std::ranges::reverse(steps);
  return steps;
}

}  // namespace mgpu::jobs
