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
  std::int32_t path = -1;        // number among the paths of its agent
  std::int32_t parent = -1;      // index of the node whose path it continues; the question has -1
  std::int32_t answer = -1;      // index of the judger's solution; -1: a node without an answer
  std::int32_t target = -1;      // node of the same agent into which this one merged; -1: none
  double score = 0.0;            // of the path up to this node
  double entropy = 0.0;          // nats, mean over the latent steps of the entropy of the next
                                 // token; 0 without collect.latent.branch_entropy
  std::string text{};            // text of an agent before the judger
  std::vector<float> latents{};  // [steps, hidden size] the states from which the inputs of the
                                 // steps are made
};

/// Makes the tree of a question. The value of an answer is 1 or 0. The value of another node is the
/// mean value of its children. A node that merged into another one has the children of that node. A
/// node without children that gives no answer has the value 0, and no visits. The visits of a node
/// count each answer below it once. The first node is the question, and children have higher
/// indices than their parents.
StepTree make_agent_tree(std::span<const AgentNode> nodes, std::span<const Solution> answers);

/// Returns the steps of an answer, one for each agent on its path. The last step is the judger's
/// `text` with all `tokens` tokens of the answer. The other steps have no tokens. `width` is the
/// hidden size, `names` has the name of each agent, and `judger` is the node of the answer.
std::vector<rows::TextStep> steps_of_answer(std::span<const AgentNode> nodes,
                                            const AgentNode& judger,
                                            std::span<const std::string> names, std::int64_t width,
                                            std::size_t tokens, std::string text);

}  // namespace mgpu::jobs
