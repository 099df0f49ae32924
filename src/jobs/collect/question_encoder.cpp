#include "question_encoder.hpp"

#include <algorithm>
#include <utility>

#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/row_problems.hpp>

namespace mgpu::jobs {
namespace {

using formats::JsonError;
using formats::JsonValue;

/// Returns the text of the question in a row: member `prompt`, or the last message with role `user`
/// in member `messages`.
/// Errors: JsonError if the row has token ids or no question.
std::string text_of_question(const JsonValue& row) {
  if (rows::member_of(row, "token_ids") != nullptr)
    throw JsonError("agents need a question as text, and it has token ids");
  const JsonValue* list = rows::member_of(row, "messages");
  if (list == nullptr) return rows::text_of(rows::member_of(row, "prompt"), "prompt");
  std::string question;
  for (const text::ChatMessage& message : rows::messages_of(*list, "messages"))
    if (message.role == "user") question = message.content;
  if (question.empty()) throw JsonError("its messages have no question of a user");
  return question;
}

}  // namespace

AgentEncoder::AgentEncoder(text::TextFolder folder, Options options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  if (options_.keys.method == AgentMethod::single)
    options_.agents.erase(options_.agents.begin(), options_.agents.end() - 1);
  if (!folder_.chat_template.empty()) chat_.emplace(folder_.chat_template);
}

Question AgentEncoder::encode(const input::Row& row) const {
  Question question;
  std::string problem = row.problem;
  if (problem.empty())
    problem = rows::problem_of([&] { question = encode_text(text_of_question(row.object)); });
  if (problem.empty()) return question;
  question = {};
  question.facts = {rows::RowStatus::bad_row, std::move(problem)};
  return question;
}

Question AgentEncoder::encode_text(const std::string& text) const {
  if (text.find(kContextMark) != std::string::npos)
    throw JsonError("its question has the control character U+0002");
  Question question;
  question.text = text;
  for (const Agent& agent : options_.agents) {
    question.agents.push_back(encode_agent(agent, question.agents.empty(), text));
    const AgentPrompt& prompt = question.agents.back();
    question.ids.insert(question.ids.end(), prompt.before.begin(), prompt.before.end());
    question.ids.insert(question.ids.end(), prompt.after.begin(), prompt.after.end());
  }
  question.longest = longest_of(question.agents);
  return question;
}

/// Renders and tokenizes the prompt of an agent. The prompt begins a sequence if `is_first`, or if
/// agents do not think in latent steps. The tokenizer adds its special tokens to a prompt that
/// begins a sequence, unless the folder has a chat template. A chat template writes the special
/// tokens itself.
AgentPrompt AgentEncoder::encode_agent(const Agent& agent, bool is_first,
                                       const std::string& question) const {
  const bool has_texts = options_.keys.method == AgentMethod::text_mas;
  std::string text = filled_prompt(agent.prompt, question, has_texts ? kContextMark : "");
  const bool reads_texts = text.find(kContextMark) != std::string::npos;
  if (chat_) {
    std::vector<text::ChatMessage> messages;
    if (!agent.system_prompt.empty()) messages.push_back({"system", agent.system_prompt});
    messages.push_back({"user", std::move(text)});
    text::ChatOptions chat;
    chat.add_generation_prompt = true;
    chat.special_tokens = folder_.special_tokens;
    text = chat_->render(messages, chat);
  } else if (!agent.system_prompt.empty()) {
    text = agent.system_prompt + "\n\n" + text;
  }
  const bool begins = is_first || !options_.keys.thinks();
  const std::size_t end = text.find(kContextMark);
  if (reads_texts && end == std::string::npos)
    throw JsonError("the chat template removes {context} from the prompt of agent `" + agent.name +
                    "`");
  const auto ids_of = [&](const std::string& part, bool add_special_tokens) {
    const std::vector<text::TokenId> ids = folder_.tokenizer.encode(part, add_special_tokens);
    return std::vector<std::int64_t>(ids.begin(), ids.end());
  };
  AgentPrompt prompt{ids_of(text.substr(0, end), begins && !chat_), {}, reads_texts};
  if (reads_texts) prompt.after = ids_of(text.substr(end + 1), false);
  if (prompt.before.empty())
    throw JsonError("the prompt of agent `" + agent.name + "` begins without a token");
  return prompt;
}

std::vector<std::int64_t> AgentEncoder::separator(const std::string& text) const {
  const std::vector<text::TokenId> ids = folder_.tokenizer.encode(text, false);
  return {ids.begin(), ids.end()};
}

/// Returns the number of tokens of the longest sequence that the agents work on. Latent steps count
/// as tokens of a sequence, but the text that the agent itself draws does not. Assumes that the
/// texts of earlier agents have the maximum length.
std::int64_t AgentEncoder::longest_of(const std::vector<AgentPrompt>& prompts) const {
  const AgentKeys& keys = options_.keys;
  std::int64_t before = 0;  // tokens that the agent gets from earlier agents
  std::int64_t longest = 0;
  for (std::size_t a = 0; a < prompts.size(); ++a) {
    const std::int64_t own = prompts[a].size() + (a + 1 < prompts.size() ? keys.steps : 0);
    if (keys.thinks())
      longest = std::max(longest, before + own);
    else
      longest = std::max(longest, prompts[a].size() + (prompts[a].reads_texts ? before : 0));
    if (!keys.thinks())
      before += std::ssize(separator(heading_of(options_.agents[a]))) + options_.max_new_tokens;
    else if (keys.carry == Carry::all)
      before += own;
    else
      before = keys.carry == Carry::last_agent ? own : before + keys.steps;
  }
  return longest;
}

std::string heading_of(const Agent& agent) {
  return "\n" + agent.name + ":\n";
}

Question QuestionEncoder::question(const input::Row& row) {
  if (agents_) return agents_->encode(row);
  Question question{encode(row)};
  question.longest = std::ssize(question.ids);
  return question;
}

}  // namespace mgpu::jobs
