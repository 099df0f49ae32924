#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include <mgpu/base/utf8.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/prompt_template.hpp>

namespace mgpu::rows {
namespace {

using formats::JsonError;
using formats::JsonValue;

/// Returns the length of the `{name}` at the start of `text`, which must begin with `{`. Returns 0
/// if no name follows the `{`, or no `}` follows the name.
std::size_t column_size(std::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                               text[end] == '_' || text[end] == '-'))
    ++end;
  return end > 1 && end < text.size() && text[end] == '}' ? end + 1 : 0;
}

std::string value_of(const std::string& name, const JsonValue& row, const ColumnNames& columns) {
  const JsonValue* value = member_of(row, name.c_str());
  for (const auto& [ours, theirs] : columns)
    if (value == nullptr && theirs == name) value = member_of(row, ours.c_str());
  if (value == nullptr) throw JsonError("the template needs `" + name + "`, which it lacks");
  return scalar_text(*value);
}

/// Returns whether a word that follows `text` must begin with a space. `text` must not be empty.
bool needs_space(const std::string& text) {
  constexpr std::string_view kOpeners = "\"'`([{<>|/";
  const auto last = static_cast<unsigned char>(text.back());
  return std::isspace(last) == 0 && kOpeners.find(text.back()) == std::string_view::npos;
}

const std::vector<std::string>& values_of(const LabelNames& labels) {
  return labels.values.empty() ? labels.names : labels.values;
}

/// Lists the allowed values with their labels, for a message: `"0" (hate), "1" (offensive)`.
std::string choices_text(const LabelNames& labels) {
  constexpr std::size_t kMost = 12;
  const std::vector<std::string>& values = values_of(labels);
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), kMost); ++i) {
    text += (i == 0 ? "\"" : ", \"") + values[i] + '"';
    if (values[i] != labels.names[i]) text += " (" + labels.names[i] + ")";
  }
  return values.size() > kMost ? text + ", ..." : text;
}

}  // namespace

std::string scalar_text(const JsonValue& value) {
  if (value.text() != nullptr) return *value.text();
  if (value.integer() != nullptr) return std::to_string(*value.integer());
  if (value.flag() != nullptr) return *value.flag() ? "true" : "false";
  if (value.real() == nullptr) throw JsonError("a column that is needed is a list or an object");
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *value.real());
  return {digits.data(), end.ptr};
}

std::string without_last_breaks(const std::string& text) {
  return text.substr(0, text.find_last_not_of("\r\n") + 1);
}

std::string fill_template(const std::string& text, const JsonValue& row,
                          const ColumnNames& columns) {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    if (rest.starts_with("{{") || rest.starts_with("}}")) {
      filled += rest.front();
      at += 2;
      continue;
    }
    const std::size_t size = rest.front() == '{' ? column_size(rest) : 0;
    if (size == 0) {
      filled += rest.front();
      ++at;
      continue;
    }
    filled += value_of(std::string(rest.substr(1, size - 2)), row, columns);
    at += size;
  }
  return filled;
}

std::string name_in_file(const std::string& name, const ColumnNames& columns) {
  const auto found = std::ranges::find(columns, name, &std::pair<std::string, std::string>::first);
  return found == columns.end() ? name : found->second;
}

std::string label_after(const std::string& prompt, const std::string& label) {
  return !prompt.empty() && needs_space(prompt) ? " " + label : label;
}

std::size_t LabelNames::label_of(const JsonValue& row, const ColumnNames& columns) const {
  constexpr std::size_t kShown = 60;  // characters of the value in a message
  const std::string column = name_in_file("label", columns);
  const JsonValue* member = member_of(row, "label");
  if (member == nullptr) throw JsonError("it has no `" + column + "`");
  const std::string value = scalar_text(*member);
  const std::vector<std::string>& allowed = values_of(*this);
  const auto found = std::ranges::find(allowed, value);
  if (found != allowed.end()) return static_cast<std::size_t>(found - allowed.begin());
  const std::size_t cut = utf8_offset(value, kShown);
  throw JsonError("`" + column + "` is \"" + value.substr(0, cut) +
                  (cut < value.size() ? "...\"" : "\"") + ", which is none of " +
                  choices_text(*this));
}

JsonValue RowTemplate::apply(const JsonValue& row, bool is_chat) const {
  const std::string prompt = fill_template(text, row, columns);
  const JsonValue* label = member_of(row, "label");
  if (label == nullptr) throw JsonError("it has no `" + name_in_file("label", columns) + "`");
  const std::string name =
      labels ? labels->names[labels->label_of(row, columns)] : scalar_text(*label);
  if (!is_chat)
    return JsonValue::Members{{"prompt", prompt}, {"completion", label_after(prompt, name)}};
  return JsonValue::Members{
      {"messages", JsonValue::List{JsonValue::Members{{"role", "user"}, {"content", prompt}},
                                   JsonValue::Members{{"role", "assistant"}, {"content", name}}}}};
}

}  // namespace mgpu::rows
