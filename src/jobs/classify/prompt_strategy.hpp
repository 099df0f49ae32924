#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/formats/json_value.hpp>

namespace mgpu::jobs {

/// Templates and sampling parameters that turn a text into a prompt.
struct PromptStrategy {
  std::string name;
  std::string system_prompt;
  std::string user_template;  // contains {text}, and may contain other columns
  std::string answer_prefix;  // text between the prompt and a scored label; may be ""
  std::int64_t max_tokens = 512;
  double temperature = 0.0;  // 0: greedy
  double top_p = 1.0;
};

/// Returns the built-in strategy.
PromptStrategy default_strategy(const std::vector<std::string>& labels);

/// Reads a strategy from a file. The file is {"strategies": {NAME: {"system_prompt",
/// "user_template", "parameters": {"max_tokens", "temperature", "top_p"}, "answer_prefix"}}}, or it
/// is a template. The `name` "" selects the only strategy.
///
/// Errors: Failure E536 (exit 65) when the file is neither of these, or has no strategy of that
///         name. The message suggests the nearest name.
PromptStrategy parse_strategy(const std::filesystem::path& path, const std::string& file,
                              const std::string& name);

/// Fills in the {columns} of a template. {{ and }} are braces, as in Python; a brace without a name
/// stands for itself. `columns` pairs this program's names of columns with those of the file. A
/// template may use both.
///
/// Errors: store::JsonError for a column that the row lacks.
std::string fill_template(const std::string& text, const formats::JsonValue& row,
                          const std::vector<std::pair<std::string, std::string>>& columns);

}  // namespace mgpu::jobs
