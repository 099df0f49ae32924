#include <cmath>
#include <limits>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/checkpoint_manifest.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/checkpoint/checkpoint_state.hpp>

namespace mgpu::store {
namespace {

using formats::JsonValue;

/// Converts a number to JSON. JSON has no infinities and no NaN, so this function writes such a
/// value as an object, for example {"number": "inf"}.
JsonValue number_to_json(double value) {
  if (std::isfinite(value)) return value;
  const char* word = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  return JsonValue::Members{{"number", word}};
}

double number_from_json(const JsonValue& json) {
  if (json.real() != nullptr) return *json.real();
  const auto word = json.get<std::string>("number");
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  throw Error("`" + word + "` is not a number");
}

JsonValue value_to_json(const StateValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return number_to_json(*number);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  return std::get<std::string>(value);
}

StateValue value_from_json(const JsonValue& json) {
  if (json.text() != nullptr) return *json.text();
  if (json.integer() != nullptr) return *json.integer();
  return number_from_json(json);
}

std::int64_t count_from_json(const JsonValue& json) {
  if (json.integer() == nullptr || *json.integer() < 0) {
    throw Error("step and consumed_samples must be whole numbers");
  }
  return *json.integer();
}

}  // namespace

std::string to_json(const CheckpointState& state) {
  JsonValue::Members values;
  for (const auto& [name, value] : state.values)
    values.emplace_back(name, value_to_json(value));
  const JsonValue best = state.best_metric ? number_to_json(*state.best_metric) : JsonValue();
  try {
    return formats::to_json(JsonValue::Members{{"best_metric", best},
                                               {"consumed_samples", state.consumed_samples},
                                               {"format_version", formats::kCheckpointFormat},
                                               {"step", state.step},
                                               {"values", std::move(values)}});
  } catch (const formats::JsonError& e) {
    throw Error("a checkpoint's state must be UTF-8: " + e.why());
  }
}

CheckpointState state_from_json(std::string_view text) {
  const JsonValue json = formats::parse_json_object(text);
  if (json.get<std::int64_t>("format_version") != formats::kCheckpointFormat) {
    throw Error("unknown format_version");
  }
  CheckpointState state;
  state.step = count_from_json(json.at("step"));
  state.consumed_samples = count_from_json(json.at("consumed_samples"));
  if (!json.at("best_metric").is_null()) {
    state.best_metric = number_from_json(json.at("best_metric"));
  }
  for (const auto& [name, value] : json.get<std::map<std::string, JsonValue>>("values"))
    state.values.emplace(name, value_from_json(value));
  return state;
}

}  // namespace mgpu::store
