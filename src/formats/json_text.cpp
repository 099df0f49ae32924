#include <nlohmann/json.hpp>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::formats {
namespace {

using Json = nlohmann::ordered_json;

// Recursion is as deep as the value: at most 32 for results of read_json_object().
struct ToJson {
  Json operator()(const JsonValue::List& list) const {
    Json json = Json::array();
    for (const JsonValue& item : list)
      json.push_back(std::visit(*this, item.held()));
    return json;
  }
  Json operator()(const JsonValue::Members& members) const {
    Json json = Json::object();
    for (const auto& [name, value] : members)
      json[name] = std::visit(*this, value.held());
    return json;
  }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

/// `indent` -1: on one line.
std::string dumped(const JsonValue& value, int indent) {
  try {
    return std::visit(ToJson{}, value.held()).dump(indent);
  } catch (const Json::exception& error) {
    throw Error(std::string("a text of a JSON value must be UTF-8: ") + error.what());
  }
}

}  // namespace

std::string to_json(const JsonValue& value) {
  return dumped(value, 2) + "\n";
}

std::string to_json_line(const JsonValue& value) {
  return dumped(value, -1);
}

}  // namespace mgpu::formats
