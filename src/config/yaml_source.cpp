#include "yaml_source.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <mgpu/base/utf8.hpp>

namespace mgpu {
namespace {

/// Returns how many bytes the quoted text at the front of `rest` has, including the quotes.
std::size_t quoted_bytes(std::string_view rest) {
  const auto is_escape = [&](std::size_t at) {
    return rest[0] == '"' ? rest[at] == '\\' : rest.substr(at, 2) == "''";
  };
  std::size_t end = 1;
  while (end < rest.size() && (rest[end] != rest[0] || is_escape(end)))
    end += is_escape(end) ? 2U : 1U;
  return std::min(end + 1, rest.size());
}

/// Returns how many bytes the plain text at the front of `rest` has, without a comment after it.
std::size_t plain_bytes(std::string_view rest) {
  std::size_t end = std::min(rest.find(" #"), rest.size());
  while (end > 0 && rest[end - 1] == ' ')
    --end;
  return end;
}

}  // namespace

YamlSource::YamlSource(const std::vector<std::string>& repaired,
                       std::vector<std::string_view> as_written, std::string origin)
    : lines_(repaired), as_written_(std::move(as_written)), origin_(std::move(origin)) {}

std::string_view YamlSource::rest_of_line(const YAML::Mark& mark) const {
  const auto index = static_cast<std::size_t>(std::max(mark.line, 0));
  if (index >= lines_.size()) return {};
  const std::string_view line = lines_[index];
  return line.substr(std::min(static_cast<std::size_t>(std::max(mark.column, 0)), line.size()));
}

std::string_view YamlSource::plain_text(const YAML::Mark& mark) const {
  const std::string_view rest = rest_of_line(mark);
  return rest.substr(0, plain_bytes(rest));
}

Place YamlSource::at(const YAML::Mark& mark, int length) const {
  const auto index = static_cast<std::size_t>(std::max(mark.line, 0));
  if (index >= lines_.size()) return place_in_line(origin_, mark.line + 1, "", 1, 1);
  const std::string_view line = lines_[index];
  const std::string_view before = line.substr(0, line.size() - rest_of_line(mark).size());
  const int column = static_cast<int>(utf8_length(before)) + 1;
  // If the repaired line begins with the original line, the original line is shown, so that a quote
  // that was added at the end is not shown. Otherwise the repaired line is shown, because its
  // columns may differ from the original columns, for example where tabs became spaces.
  const bool same_columns = line.starts_with(as_written_[index]);
  return place_in_line(origin_, mark.line + 1, same_columns ? as_written_[index] : line, column,
                       length);
}

Place YamlSource::at_scalar(const YAML::Mark& mark, std::string_view value) const {
  const std::string_view rest = rest_of_line(mark);
  std::size_t bytes = 0;
  if (rest.starts_with('"') || rest.starts_with('\'')) {
    bytes = quoted_bytes(rest);
  } else {
    bytes = !value.empty() && rest.starts_with(value) ? value.size() : plain_bytes(rest);
  }
  return at(mark, std::max(1, static_cast<int>(utf8_length(rest.substr(0, bytes)))));
}

}  // namespace mgpu
