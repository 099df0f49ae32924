#include "config_fields.hpp"

#include <cmath>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>

namespace mgpu::lm {
namespace {

std::string quoted(ConfigFields::Names names) {
  return std::string("`").append(*names.begin()).append("`");
}

}  // namespace

const formats::JsonValue* ConfigFields::find(Names names) const {
  for (const std::string_view name : names) {
    const formats::JsonValue* value = object_.find(name);
    if (value != nullptr && !value->is_null()) return value;
  }
  return nullptr;
}

bool ConfigFields::is_null(std::string_view name) const {
  const formats::JsonValue* value = object_.find(name);
  return value != nullptr && value->is_null();
}

void ConfigFields::refuse_value(const std::string& why) const {
  throw Failure({"E702",
                 ExitCode::data,
                 "the configuration of a model makes no sense: " + why,
                 {"  --> " + path_.string()},
                 ""});
}

void ConfigFields::refuse_feature(const std::string& what, const std::string& supported) const {
  throw Failure({"E701",
                 ExitCode::data,
                 "the model is not supported: " + printable(what),
                 {"  --> " + path_.string(), "  supported: " + supported},
                 ""});
}

std::int64_t ConfigFields::integer(Names names, std::int64_t min, std::int64_t max) const {
  const formats::JsonValue* value = find(names);
  if (value == nullptr) refuse_value(quoted(names) + " is missing");
  const std::int64_t* held = value->integer();
  if (held == nullptr || *held < min || *held > max) {
    refuse_value(quoted(names) + " is not a whole number from " + std::to_string(min) + " to " +
                 std::to_string(max));
  }
  return *held;
}

std::int64_t ConfigFields::integer_or(Names names, std::int64_t standard, std::int64_t min) const {
  return has(names) ? integer(names, min) : standard;
}

double ConfigFields::number(Names names) const {
  const formats::JsonValue* value = find(names);
  if (value == nullptr) refuse_value(quoted(names) + " is missing");
  if (value->integer() != nullptr) return static_cast<double>(*value->integer());
  if (value->real() == nullptr || !std::isfinite(*value->real()))
    refuse_value(quoted(names) + " is not a finite number");
  return *value->real();
}

double ConfigFields::number_or(Names names, double standard) const {
  return has(names) ? number(names) : standard;
}

bool ConfigFields::flag_or(Names names, bool standard) const {
  const formats::JsonValue* value = find(names);
  if (value == nullptr) return standard;
  if (value->flag() == nullptr) refuse_value(quoted(names) + " is neither true nor false");
  return *value->flag();
}

std::string ConfigFields::text_or(Names names, std::string_view standard) const {
  const formats::JsonValue* value = find(names);
  if (value == nullptr) return std::string(standard);
  if (value->text() == nullptr) refuse_value(quoted(names) + " is not a text");
  return *value->text();
}

std::optional<ConfigFields> ConfigFields::object(Names names) const {
  const formats::JsonValue* value = find(names);
  if (value == nullptr) return std::nullopt;
  if (value->members() == nullptr) refuse_value(quoted(names) + " is not an object");
  return ConfigFields(path_, *value);
}

}  // namespace mgpu::lm
