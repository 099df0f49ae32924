#include "agent_answers.hpp"

#include <optional>
#include <utility>

#include <mgpu/datasets/pass_rates.hpp>

#include "path_scores.hpp"

namespace mgpu::jobs {
namespace {

std::vector<std::string> names_of(const AgentEncoder& encoder) {
  std::vector<std::string> names;
  for (const Agent& agent : encoder.agents())
    names.push_back(agent.name);
  return names;
}

/// Chooses an answer by vote(), with the scores of the answers' nodes as weights. `dataset`
/// compares the answers (datasets::first_equal()). The chosen answer counts as right if one of the
/// solutions with this answer is right.
void add_vote(CollectedQuestion& collected, std::span<const AgentNode> nodes,
              const datasets::Dataset* dataset) {
  std::vector<std::optional<std::string>> answers;
  std::vector<double> weights(collected.paths.size(), 0.0);
  for (const AgentNode& node : nodes)
    if (node.answer >= 0) weights[static_cast<std::size_t>(node.answer)] = node.score;
  for (const Solution& solution : collected.paths)
    answers.push_back(solution.answer.answer.empty() ? std::nullopt
                                                     : std::optional(solution.answer.answer));
  const std::vector<std::int32_t> firsts = datasets::first_equal(answers, dataset);
  const std::int32_t chosen = vote(firsts, weights);
  if (chosen < 0) return;
  collected.vote = *answers[static_cast<std::size_t>(chosen)];
  for (std::size_t path = 0; path < firsts.size(); ++path)
    if (firsts[path] == chosen) collected.vote_is_right |= collected.paths[path].answer.is_right;
}

}  // namespace

CollectedQuestion collect_answers(const AnsweredQuestion& question, std::vector<AgentNode> nodes,
                                  std::vector<AgentAnswer> answers) {
  CollectedQuestion collected;
  const std::vector<std::string> names = names_of(*question.encoder.agents());
  const std::int64_t width = question.inputs.model.hidden_size;
  for (AgentAnswer& answer : answers) {
    AgentNode& node = nodes[static_cast<std::size_t>(answer.node)];
    node.answer = static_cast<std::int32_t>(collected.paths.size());
    Solution solution;
    const std::vector<std::int64_t>& ids = answer.completion.ids;
    solution.steps =
        steps_of_answer(nodes, node, names, width, ids.size(), question.encoder.decode(ids));
    solution.answer = question.judge.judge(question.index, question.expected, ids);
    solution.completion = std::move(answer.completion);
    collected.paths.push_back(std::move(solution));
  }
  add_vote(collected, nodes, question.judge.dataset());
  collected.tree = make_agent_tree(nodes, collected.paths);
  collected.agents = std::move(nodes);
  return collected;
}

}  // namespace mgpu::jobs
