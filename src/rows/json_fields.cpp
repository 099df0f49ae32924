#include <mgpu/rows/json_fields.hpp>

namespace mgpu::rows {

using formats::JsonError;
using formats::JsonValue;

const std::string& text_of(const JsonValue* value, const char* name) {
  if (value == nullptr || value->text() == nullptr)
    throw JsonError(std::string("`") + name + "` is not a text");
  return *value->text();
}

const JsonValue* member_of(const JsonValue& object, const char* name) {
  const JsonValue* member = object.find(name);
  return member == nullptr || member->is_null() ? nullptr : member;
}

std::string answer_of(const JsonValue& row) {
  const JsonValue* answer = member_of(row, "answer");
  if (answer == nullptr) return "";
  return answer->text() != nullptr ? *answer->text() : formats::to_json_line(*answer);
}

std::vector<std::int64_t> ids_of(const JsonValue& value, const char* name) {
  const std::string quoted = std::string("`") + name + "`";
  if (value.list() == nullptr || value.list()->empty())
    throw JsonError(quoted + " is not a list of ids");
  std::vector<std::int64_t> ids;
  for (const JsonValue& item : *value.list()) {
    if (item.integer() == nullptr) throw JsonError(quoted + " has a value that is no id");
    ids.push_back(*item.integer());
  }
  return ids;
}

namespace {

/// Returns whether a member of a message has a value: it is not null, and not an empty text or
/// list.
bool has_value(const JsonValue& member) {
  if (member.is_null()) return false;
  if (member.text() != nullptr) return !member.text()->empty();
  return member.list() == nullptr || !member.list()->empty();
}

std::vector<std::string> other_members(const JsonValue& message) {
  std::vector<std::string> names;
  for (const auto& [name, value] : *message.members())
    if (name != "role" && name != "content" && has_value(value)) names.push_back(name);
  return names;
}

}  // namespace

std::vector<text::ChatMessage> messages_of(const JsonValue& value, const char* name) {
  if (value.list() == nullptr || value.list()->empty())
    throw JsonError(std::string("`") + name + "` is not a list of messages");
  std::vector<text::ChatMessage> messages;
  for (const JsonValue& item : *value.list())
    messages.push_back({text_of(item.find("role"), "role"),
                        text_of(item.find("content"), "content"), other_members(item)});
  return messages;
}

}  // namespace mgpu::rows
