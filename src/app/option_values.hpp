#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu::app {

/// Splits a text at each separator. A separator at the end of the text adds no empty part.
std::vector<std::string> split_at(std::string_view text, char separator);

/// Returns whether the argument is KEY=VALUE: the text before the first equals sign is not empty
/// and has only letters, digits, `_`, `-` and dots.
bool is_override(std::string_view argument);

/// The two numbers in the value of --only.
struct WrittenPart {
  std::string index;  // 1 to 5 digits
  std::string count;  // 1 to 5 digits
};

/// Parses the value of --only, such as "0/4". Returns nullopt for other texts.
std::optional<WrittenPart> parse_part(const std::string& text);

/// Parses the value of --select, such as "algorithm=pita,round=0". Returns the value as a YAML
/// mapping: `{algorithm: "pita", round: "0"}`. If a name is given several times, its values are
/// joined with blanks. Returns nullopt for other texts.
std::optional<std::string> parse_selection(const std::string& text);

}  // namespace mgpu::app
