#include "prompt_strategy.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include <mgpu/base/error.hpp>
#include <mgpu/config/nearest_name.hpp>
#include <mgpu/rows/json_fields.hpp>

namespace mgpu::jobs {
namespace {

using formats::JsonError;
using formats::JsonValue;

constexpr const char* kTextColumn = "{text}";

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why,
                         const std::string& help) {
  throw Failure({"E536",
                 ExitCode::data,
                 "a file of prompt strategies cannot be used: " + why,
                 {"  --> " + path.string()},
                 help});
}

std::string optional_text(const JsonValue& object, const char* name) {
  const JsonValue* member = rows::member_of(object, name);
  return member == nullptr ? "" : rows::text_of(member, name);
}

double number_of(const JsonValue& value, const char* name, double low, double high) {
  double number = low - 1.0;
  if (value.real() != nullptr) number = *value.real();
  if (value.integer() != nullptr) number = static_cast<double>(*value.integer());
  if (number < low || number > high)
    throw JsonError("`" + std::string(name) + "` is not a number in its range");
  return number;
}

PromptStrategy strategy_of(const std::string& name, const JsonValue& object) {
  PromptStrategy strategy;
  strategy.name = name;
  strategy.system_prompt = optional_text(object, "system_prompt");
  strategy.user_template = rows::text_of(object.find("user_template"), "user_template");
  strategy.answer_prefix = optional_text(object, "answer_prefix");
  if (strategy.user_template.find(kTextColumn) == std::string::npos)
    throw JsonError("`user_template` has no {text}");
  const JsonValue* parameters = rows::member_of(object, "parameters");
  if (parameters == nullptr) return strategy;
  if (const JsonValue* value = rows::member_of(*parameters, "max_tokens"))
    strategy.max_tokens = static_cast<std::int64_t>(number_of(*value, "max_tokens", 1, 1 << 20));
  if (const JsonValue* value = rows::member_of(*parameters, "temperature"))
    strategy.temperature = number_of(*value, "temperature", 0, 1e4);
  if (const JsonValue* value = rows::member_of(*parameters, "top_p"))
    strategy.top_p = number_of(*value, "top_p", 1e-6, 1);
  return strategy;
}

PromptStrategy chosen(const JsonValue& strategies, const std::filesystem::path& path,
                      const std::string& name) {
  if (strategies.members() == nullptr || strategies.members()->empty())
    throw JsonError("`strategies` is not an object with a strategy");
  std::vector<std::string> names;
  for (const auto& [other, strategy] : *strategies.members())
    names.push_back(other);
  if (name.empty() && names.size() > 1)
    refuse(path, "it has " + std::to_string(names.size()) + " strategies",
           "classify.strategy=" + names.front());
  const std::string selected = name.empty() ? names.front() : name;
  const JsonValue* found = strategies.find(selected);
  if (found == nullptr) {
    const std::string nearest = nearest_name(selected, names);
    refuse(path, "it has no strategy `" + selected + "`",
           "classify.strategy=" + (nearest.empty() ? names.front() : nearest));
  }
  return strategy_of(selected, *found);
}

/// Returns the length of `{name}` at the beginning of a text, or 0 if the text begins with
/// something else.
std::size_t column_size(std::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 ||
                               text[end] == '_' || text[end] == '-'))
    ++end;
  return end > 1 && end < text.size() && text[end] == '}' ? end + 1 : 0;
}

std::string shown(const JsonValue& value) {
  if (value.text() != nullptr) return *value.text();
  if (value.integer() != nullptr) return std::to_string(*value.integer());
  if (value.flag() != nullptr) return *value.flag() ? "true" : "false";
  if (value.real() == nullptr) throw JsonError("a column of the template is a list or an object");
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *value.real());
  return {digits.data(), end.ptr};
}

std::string value_of(const std::string& name, const JsonValue& row,
                     const std::vector<std::pair<std::string, std::string>>& columns) {
  const JsonValue* value = rows::member_of(row, name.c_str());
  for (const auto& [ours, theirs] : columns)
    if (value == nullptr && theirs == name) value = rows::member_of(row, ours.c_str());
  if (value == nullptr) throw JsonError("the template needs `" + name + "`, which it lacks");
  return shown(*value);
}

}  // namespace

PromptStrategy default_strategy(const std::vector<std::string>& labels) {
  std::string listed;
  for (std::size_t i = 0; i < labels.size(); ++i)
    listed += (i == 0 ? "" : i + 1 == labels.size() ? " or " : ", ") + labels[i];
  PromptStrategy strategy;
  strategy.name = "default";
  strategy.system_prompt = "Classify the text as " + listed + ". Answer with one word.";
  strategy.user_template = "Text: {text}\nAnswer:";
  strategy.max_tokens = 16;
  return strategy;
}

PromptStrategy parse_strategy(const std::filesystem::path& path, const std::string& file,
                              const std::string& name) {
  const std::size_t begin = file.find_first_not_of(" \t\r\n");
  const bool is_json =
      path.extension() == ".json" || (begin != std::string::npos && file[begin] == '{' &&
                                      file.find("\"strategies\"") != std::string::npos);
  if (!is_json) {
    if (!name.empty())
      refuse(path, "it is one template, which has no strategies", "classify.strategy=null");
    if (file.find(kTextColumn) == std::string::npos)
      refuse(path, "it is a template without {text}", "put {text} where the text belongs");
    PromptStrategy strategy;
    strategy.name = path.stem().string();
    strategy.user_template = file.substr(0, file.find_last_not_of("\r\n") + 1);
    return strategy;
  }
  try {
    const JsonValue object = formats::parse_json_object(file);
    const JsonValue* strategies = rows::member_of(object, "strategies");
    if (strategies == nullptr) throw JsonError("it has no `strategies`");
    return chosen(*strategies, path, name);
  } catch (const JsonError& error) {
    refuse(path, error.why(),
           R"({"strategies": {"NAME": {"system_prompt": "...", "user_template": "... {text}"}}})");
  }
}

std::string fill_template(const std::string& text, const JsonValue& row,
                          const std::vector<std::pair<std::string, std::string>>& columns) {
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

}  // namespace mgpu::jobs
