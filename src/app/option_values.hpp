#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu::app {

/// Splits a text at each separator. A separator at the end of the text adds no empty part.
std::vector<std::string> split_at(std::string_view text, char separator);

/// Returns whether the argument is KEY=VALUE. The text before the first equals sign must be a name
/// of letters, digits, `_`, `-` and dots.
bool is_override(std::string_view argument);

/// The two numbers in the value of --only.
struct WrittenPart {
  std::string index;  // digits
  std::string count;  // digits
};

/// Parses the value of --only, such as "0/4"; nullopt for other texts.
std::optional<WrittenPart> parse_part(const std::string& text);

/// Parses the value of --select, such as "algorithm=pita,round=0". Returns it as a mapping of YAML:
/// `{algorithm: "pita", round: "0"}`. The values of a name that is given twice are joined with a
/// blank. Returns nullopt for other texts.
std::optional<std::string> parse_selection(const std::string& text);

}  // namespace mgpu::app
