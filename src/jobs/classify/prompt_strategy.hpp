#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/formats/json_value.hpp>

namespace mgpu::jobs {

/// How a text becomes a prompt.
struct PromptStrategy {
  std::string name;
  std::string system_prompt;
  std::string user_template;  // with {text}, and any other column
  std::string answer_prefix;  // before a label that is scored; "" for nothing
  std::int64_t max_tokens = 512;
  double temperature = 0.0;  // 0: greedy
  double top_p = 1.0;
};

/// The program's own.
PromptStrategy default_strategy(const std::vector<std::string>& labels);

/// A strategy of a file that is {"strategies": {NAME: {"system_prompt", "user_template",
/// "parameters": {"max_tokens", "temperature", "top_p"}, "answer_prefix"}}}; of another file that
/// is a template by itself. `name` "" is the only one.
///
/// Errors: Failure E536 (exit 65) when the file is neither, or has no such strategy, with the
///         nearest name.
PromptStrategy parse_strategy(const std::filesystem::path& path, const std::string& file,
                              const std::string& name);

/// A template with its {columns} filled in. {{ and }} are braces, as in Python; a brace without a
/// name is itself. `columns`: our names of what the file calls otherwise, which may be used too.
///
/// Errors: store::JsonError for a column that the row lacks.
std::string fill_template(const std::string& text, const formats::JsonValue& row,
                          const std::vector<std::pair<std::string, std::string>>& columns);

}  // namespace mgpu::jobs
