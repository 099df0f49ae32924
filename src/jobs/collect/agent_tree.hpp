#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "solution.hpp"
#include "step_tree.hpp"

namespace mgpu::jobs {

/// A node in the tree of agents. It stands for the question, or for a path of one agent.
struct AgentNode {
  std::int32_t agent = -1;       // -1: the question
  std::int32_t path = -1;        // number of the path among the paths of the agent, from 0
  std::int32_t parent = -1;      // index of the node whose path is continued; -1: this node is the
                                 // question
  std::int32_t answer = -1;      // index of the judger's solution; -1: a node without an answer
  std::int32_t target = -1;      // node of the same agent into which this node merged; -1: none
  double score = 0.0;            // score of the path up to this node
  double entropy = 0.0;          // entropy of the next token in nats, mean over the latent steps; 0
                                 // without collect.latent.branch_entropy
  std::string text{};            // text that the agent wrote (text_mas); "" for the judger
  std::vector<float> latents{};  // [latent steps, hidden size], the states from which the inputs of
                                 // the latent steps are made
};

/// Makes the tree of a question from `nodes`. The first node must be the question, and children
/// must have higher indices than their parents. The visits of a node count each answer below the
/// node once. If a node merged into a target (AgentNode::target), the answers below the target also
/// count as answers below the node. The value of a node is:
/// - for a node with an answer: 1 if the answer is right, else 0
/// - for a node that merged into a target: the value of the target
/// - for a node without visits: 0
/// - for any other node: the mean value of its children
StepTree make_agent_tree(std::span<const AgentNode> nodes, std::span<const Solution> answers);

/// Returns the steps of an answer, one for each agent on its path. `judger` is the node of the
/// answer. The last step is `text`, the answer of the judger, with `tokens` tokens. The other steps
/// describe the work of the other agents as text, and have no tokens. `names` has the name of each
/// agent, and `width` is the hidden size.
std::vector<rows::TextStep> steps_of_answer(std::span<const AgentNode> nodes,
                                            const AgentNode& judger,
                                            std::span<const std::string> names, std::int64_t width,
                                            std::size_t tokens, std::string text);

}  // namespace mgpu::jobs
