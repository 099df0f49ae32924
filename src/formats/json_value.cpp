#include <algorithm>
#include <set>

#include <simdjson.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/lfs_pointer.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::formats {
namespace {

constexpr std::size_t kMaxDepth = 32;

using simdjson::dom::element_type;

/// Converts one parsed document to a tree of JsonValues.
class TreeMaker {
public:
  // The recursion has at most kMaxDepth levels, because simdjson refuses deeper documents.
  JsonValue tree(simdjson::dom::element element) const {
    switch (element.type()) {
      case element_type::ARRAY:
        return list(element.get_array().value_unsafe());
      case element_type::OBJECT:
        return object(element.get_object().value_unsafe());
      case element_type::INT64:
        return JsonValue(element.get_int64().value_unsafe());
      case element_type::UINT64:  // above 2^63 - 1
        return JsonValue(static_cast<double>(element.get_uint64().value_unsafe()));
      case element_type::DOUBLE:
        return JsonValue(element.get_double().value_unsafe());
      case element_type::STRING:
        return JsonValue(std::string(element.get_string().value_unsafe()));
      case element_type::BOOL:
        return JsonValue(element.get_bool().value_unsafe());
      case element_type::NULL_VALUE:
        break;
    }
    return JsonValue();
  }

private:
  JsonValue list(const simdjson::dom::array& array) const {
    JsonValue::List items;
    for (const simdjson::dom::element item : array)
      items.push_back(tree(item));
    return JsonValue(std::move(items));
  }

  JsonValue object(const simdjson::dom::object& object) const {
    JsonValue::Members members;
    std::set<std::string_view> names;
    for (const auto [name, value] : object) {
      if (!names.insert(name).second) throw JsonError("`" + printable(name) + "` comes twice");
      members.emplace_back(name, tree(value));
    }
    return JsonValue(std::move(members));
  }
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  const Members* all = members();
  if (all == nullptr) return nullptr;
  const auto found =
      std::find_if(all->begin(), all->end(), [&](const auto& m) { return m.first == name; });
  return found == all->end() ? nullptr : &found->second;
}

const JsonValue& JsonValue::at(std::string_view name) const {
  const JsonValue* member = find(name);
  if (member == nullptr) throw JsonError("`" + std::string(name) + "` is missing");
  return *member;
}

bool JsonValue::read(bool& value) const {
  if (flag() == nullptr) return false;
  value = *flag();
  return true;
}

bool JsonValue::read(double& value) const {
  if (real() == nullptr && integer() == nullptr) return false;
  value = real() != nullptr ? *real() : static_cast<double>(*integer());
  return true;
}

bool JsonValue::read(std::string& value) const {
  if (text() == nullptr) return false;
  value = *text();
  return true;
}

bool JsonValue::read(JsonValue& value) const {
  value = *this;
  return true;
}

void JsonValue::refuse(std::string_view name) {
  throw JsonError("`" + std::string(name) + "` has the wrong type or range");
}

JsonValue parse_json_object(std::string_view text) {
  simdjson::dom::parser parser;
  if (parser.allocate(text.size() + 1, kMaxDepth) != simdjson::SUCCESS) throw std::bad_alloc();
  simdjson::dom::element root;
  const simdjson::error_code error = parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS) throw JsonError(simdjson::error_message(error));
  if (!root.is_object()) throw JsonError("it is not a JSON object");
  return TreeMaker().tree(root);
}

JsonValue read_json_object(const fs::path& path, std::uint64_t limit_bytes) {
  return parse_json_object(path, read_file(path, limit_bytes));
}

JsonValue parse_json_object(const fs::path& path, std::string_view text) {
  refuse_lfs_pointer(path, text);
  try {
    return parse_json_object(text);
  } catch (const JsonError& error) {
    throw Failure({"E623",
                   ExitCode::data,
                   "a JSON file of a model cannot be used: " + error.why(),
                   {"  --> " + path.string()},
                   ""});
  }
}

}  // namespace mgpu::formats
