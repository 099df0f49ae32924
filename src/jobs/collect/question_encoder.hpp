#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/input/row_file.hpp>
#include <mgpu/rows/prompt_encoder.hpp>
#include <mgpu/text/chat_template.hpp>
#include <mgpu/text/text_folder.hpp>

#include "agent_keys.hpp"
#include "agents.hpp"
#include "question.hpp"

namespace mgpu::jobs {

/// Tokenizes a question: the prompts of all agents, with the question filled in.
class AgentEncoder {
public:
  struct Options {
    AgentKeys keys{};
    std::vector<Agent> agents{};
    std::int64_t max_new_tokens = 0;  // largest number of tokens of an agent's text
  };

  AgentEncoder(text::TextFolder folder, Options options);

  /// Encodes the question of a row: member `prompt`, or the last user message in member `messages`.
  /// If the row cannot be used, the question has the status bad_row and the reason.
  Question encode(const input::Row& row) const;

  const std::vector<Agent>& agents() const { return options_.agents; }

  /// Returns the tokens of a text that comes between the texts of agents, such as the result of
  /// heading_of().
  std::vector<std::int64_t> separator(const std::string& text) const;

private:
  Question encode_text(const std::string& question) const;
  AgentPrompt encode_agent(const Agent& agent, bool is_first, const std::string& question) const;
  std::int64_t longest_of(const std::vector<AgentPrompt>& prompts) const;

  text::TextFolder folder_;
  Options options_;
  std::optional<text::ChatTemplate> chat_;
};

/// Returns the heading of an agent's text in the prompts of later agents.
std::string heading_of(const Agent& agent);

/// Encodes the questions of a run with or without agents.
class QuestionEncoder : public rows::PromptEncoder {
public:
  QuestionEncoder(rows::PromptEncoder encoder, std::optional<AgentEncoder> agents)
      : rows::PromptEncoder(std::move(encoder)), agents_(std::move(agents)) {}

  Question question(const input::Row& row);

  /// Returns the encoder of agents; nullptr if the run has no agents.
  const AgentEncoder* agents() const { return agents_ ? &*agents_ : nullptr; }

private:
  std::optional<AgentEncoder> agents_;
};

}  // namespace mgpu::jobs
