#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include <mgpu/base/error.hpp>
#include <mgpu/store/checkpoint/checkpoint_state.hpp>

namespace mgpu::store {
namespace {

using Json = nlohmann::json;

/// JSON has no infinities. They are stored as {"number": "inf"}.
Json number_to_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return {{"number", "nan"}};
  return {{"number", value > 0 ? "inf" : "-inf"}};
}

double number_from_json(const Json& json) {
  if (json.is_number_float()) return json.get<double>();
  const auto word = json.at("number").get<std::string>();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  throw Error("`" + word + "` is not a number");
}

Json value_to_json(const StateValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return number_to_json(*number);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  return std::get<std::string>(value);
}

StateValue value_from_json(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  return number_from_json(json);
}

std::int64_t count_from_json(const Json& json) {
  if (!json.is_number_integer() || json.get<std::int64_t>() < 0) {
    throw Error("step and consumed_samples must be whole numbers");
  }
  return json.get<std::int64_t>();
}

}  // namespace

std::string to_json(const CheckpointState& state) {
  Json values = Json::object();
  for (const auto& [name, value] : state.values)
    values[name] = value_to_json(value);
  const Json json{{"format_version", kCheckpointFormat},
                  {"step", state.step},
                  {"consumed_samples", state.consumed_samples},
                  {"best_metric", state.best_metric ? number_to_json(*state.best_metric) : Json()},
                  {"values", values}};
  try {
    return json.dump(2) + "\n";
  } catch (const Json::exception& e) {
    throw Error(std::string("a checkpoint's state must be UTF-8: ") + e.what());
  }
}

CheckpointState state_from_json(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("format_version") != kCheckpointFormat) throw Error("unknown format_version");
    CheckpointState state;
    state.step = count_from_json(json.at("step"));
    state.consumed_samples = count_from_json(json.at("consumed_samples"));
    if (!json.at("best_metric").is_null()) {
      state.best_metric = number_from_json(json.at("best_metric"));
    }
    for (const auto& [name, value] : json.at("values").get_ref<const Json::object_t&>())
      state.values.emplace(name, value_from_json(value));
    return state;
  } catch (const Json::exception& e) {
    throw Error(e.what());
  }
}

}  // namespace mgpu::store
