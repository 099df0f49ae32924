#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mgpu::jobs {

/// The templates that turn a text into a prompt, and the parameters with which an answer is
/// sampled.
struct PromptStrategy {
  std::string name;
  std::string system_prompt;
  std::string user_template;  // contains {text}, and may contain other columns
  std::string answer_prefix;  // text between the prompt and a label that is scored; may be ""
  std::int64_t max_tokens = 512;
  double temperature = 0.0;  // 0: greedy
  double top_p = 1.0;
};

/// Returns the strategy that is used without classify.prompt. It asks for one of `labels` in one
/// word.
PromptStrategy default_strategy(const std::vector<std::string>& labels);

/// Returns a strategy with this user_template. Line breaks at the end of the template are removed.
PromptStrategy template_strategy(const std::string& user_template);

/// Returns a strategy from `file`, the content of the file `path`. The content has one of two
/// forms:
/// - {"strategies": {NAME: {"system_prompt", "user_template", "parameters": {"max_tokens",
///   "temperature", "top_p"}, "answer_prefix"}}}: `name` chooses the strategy. If `name` is "", the
///   file must have exactly one strategy.
/// - the text of one template, which contains {text}. The strategy gets the name of the file,
///   without its extension. `name` must be "".
///
/// Errors: Failure E536 (exit 65) if the content has another form, a member has a wrong value, or
///         `name` does not fit the content. If the file has strategies, but no strategy has the
///         name `name`, the help suggests one.
PromptStrategy parse_strategy(const std::filesystem::path& path, const std::string& file,
                              const std::string& name);

}  // namespace mgpu::jobs
