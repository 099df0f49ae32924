#include "option_values.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>

namespace mgpu::app {
namespace {

bool is_number(std::string_view word) {
  return !word.empty() && word.size() < 6 &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool is_override(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  return std::all_of(
      argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(equals),
      [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-'; });
}

std::optional<WrittenPart> parse_part(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  WrittenPart part{text.substr(0, slash), text.substr(slash + 1)};
  if (!is_number(part.index) || !is_number(part.count)) return std::nullopt;
  return part;
}

std::optional<std::string> parse_selection(const std::string& text) {
  std::map<std::string, std::string> values;
  for (const std::string& pair : split_at(text, ',')) {
    const std::size_t equals = pair.find('=');
    const std::string value = equals == std::string::npos ? "" : pair.substr(equals + 1);
    if (!is_override(pair) || value.empty() || value.find_first_of("\"\\") != std::string::npos)
      return std::nullopt;
    std::string& known = values[pair.substr(0, equals)];
    known += (known.empty() ? "" : " ") + value;
  }
  if (values.empty()) return std::nullopt;
  std::string mapping;
  for (const auto& [name, value] : values)
    mapping += (mapping.empty() ? "{" : ", ") + name + ": \"" + value + "\"";
  return mapping + "}";
}

}  // namespace mgpu::app
