#include "prompt_strategy.hpp"

#include <string_view>

#include <mgpu/base/error.hpp>
#include <mgpu/config/nearest_name.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/prompt_template.hpp>

namespace mgpu::jobs {
namespace {

using formats::JsonError;
using formats::JsonValue;

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
  if (strategy.user_template.find(rows::kTextColumn) == std::string::npos)
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

PromptStrategy template_strategy(const std::string& user_template) {
  PromptStrategy strategy;
  strategy.name = "template";
  strategy.user_template = rows::without_last_breaks(user_template);
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
    if (file.find(rows::kTextColumn) == std::string::npos)
      refuse(path, "it is a template without {text}", "put {text} where the text belongs");
    PromptStrategy strategy = template_strategy(file);
    strategy.name = path.stem().string();
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

}  // namespace mgpu::jobs
