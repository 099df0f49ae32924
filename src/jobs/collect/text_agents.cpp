#include "text_agents.hpp"

#include <utility>

#include "agent_answers.hpp"
#include "latent_noise.hpp"

namespace mgpu::jobs {

TextAgentCollector::TextAgentCollector(const lm::LanguageModel& model,
                                       const QuestionEncoder& encoder, const CollectInputs& inputs)
    : encoder_(encoder),
      inputs_(inputs),
      judge_(inputs.keys.rows, encoder),
      generator_(model, inputs.generation) {
  for (const Agent& agent : encoder.agents()->agents())
    headings_.push_back(encoder.agents()->separator(heading_of(agent)));
}

std::vector<CollectedQuestion> TextAgentCollector::run(std::span<const Question> questions,
                                                       std::int64_t first) {
  questions_ = questions;
  first_ = first;
  std::vector<Chain> chains;
  for (std::size_t q = 0; q < questions.size(); ++q)
    for (std::int64_t p = 0; p < inputs_.keys.num_paths; ++p)
      if (questions[q].facts.status == rows::RowStatus::ok) chains.push_back({q, p});
  std::vector<CollectedQuestion> collected(questions.size());
  if (chains.empty()) return collected;
  for (std::size_t agent = 0; agent < headings_.size(); ++agent) {
    std::vector<lm::Completion> completions = completions_of(agent, chains);
    for (std::size_t c = 0; c < chains.size(); ++c) {
      chains[c].completions.push_back(std::move(completions[c]));
      add_context(agent, chains[c]);
    }
  }
  const auto paths = static_cast<std::size_t>(inputs_.keys.num_paths);
  for (std::size_t begin = 0; begin < chains.size(); begin += paths)
    collected[chains[begin].question] = finished(std::span(chains).subspan(begin, paths));
  return collected;
}

/// Samples a text of an agent for each chain (a path of a question), in one call to the generator.
/// For the first agent, all chains of a question are completions of one prompt. Returns one
/// completion for each chain.
std::vector<lm::Completion> TextAgentCollector::completions_of(std::size_t agent,
                                                               std::span<const Chain> chains) {
  const std::size_t shared = agent == 0 ? static_cast<std::size_t>(inputs_.keys.num_paths) : 1;
  std::vector<std::vector<std::int64_t>> ids;
  for (std::size_t c = 0; c < chains.size(); c += shared) {
    const AgentPrompt& prompt = questions_[chains[c].question].agents[agent];
    ids.push_back(prompt.before);
    if (prompt.reads_texts)
      ids.back().insert(ids.back().end(), chains[c].context.begin(), chains[c].context.end());
    ids.back().insert(ids.back().end(), prompt.after.begin(), prompt.after.end());
  }
  std::vector<lm::Prompt> prompts;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Chain& chain = chains[i * shared];
    prompts.push_back(
        {stream_of_agent(index_of(chain), static_cast<std::int64_t>(agent), chain.path), ids[i],
         static_cast<std::int64_t>(shared)});
  }
  const bool is_last = agent + 1 == headings_.size();
  generator_.set_progress([this, is_last](std::int64_t ended) {
    if (is_last) report(ended);
  });
  std::vector<lm::Completion> completions;
  for (lm::PromptResult& result : generator_.run(prompts))
    for (lm::Completion& completion : result.completions)
      completions.push_back(std::move(completion));
  return completions;
}

/// Adds an agent's heading and text, without the stop token, to the context of the next agents.
void TextAgentCollector::add_context(std::size_t agent, Chain& chain) const {
  const lm::Completion& completion = chain.completions.back();
  const std::ptrdiff_t stop = completion.reason == lm::FinishReason::stop_id ? 1 : 0;
  chain.context.insert(chain.context.end(), headings_[agent].begin(), headings_[agent].end());
  chain.context.insert(chain.context.end(), completion.ids.begin(), completion.ids.end() - stop);
}

/// Makes the tree of a question from its chains.
CollectedQuestion TextAgentCollector::finished(std::span<Chain> chains) const {
  std::vector<AgentNode> nodes(1);  // the question
  std::vector<AgentAnswer> answers;
  std::int64_t tokens = 0;
  for (Chain& chain : chains) {
    std::int32_t parent = 0;
    for (std::size_t agent = 0; agent < headings_.size(); ++agent) {
      AgentNode node;
      node.agent = static_cast<std::int32_t>(agent);
      node.path = static_cast<std::int32_t>(chain.path);
      node.parent = parent;
      node.score = 1.0;
      parent = static_cast<std::int32_t>(nodes.size());
      if (agent + 1 < headings_.size()) {
        tokens += std::ssize(chain.completions[agent].ids);
        node.text = encoder_.decode(chain.completions[agent].ids);
      }
      nodes.push_back(std::move(node));
    }
    answers.push_back({parent, std::move(chain.completions.back())});
  }
  const Chain& first = chains.front();
  CollectedQuestion collected = collect_answers(
      {inputs_, encoder_, judge_, index_of(first), questions_[first.question].answer},
      std::move(nodes), std::move(answers));
  collected.rollout_tokens = tokens;
  return collected;
}

}  // namespace mgpu::jobs
