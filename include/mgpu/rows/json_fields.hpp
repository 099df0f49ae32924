#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/text/chat_template.hpp>

namespace mgpu::rows {

/// Returns the string `value`. Errors: JsonError when `value`, called `name`, is absent or not a
/// string.
const std::string& text_of(const formats::JsonValue* value, const char* name);

/// Returns the member `name` of an object; nullptr when it is absent or null.
const formats::JsonValue* member_of(const formats::JsonValue& object, const char* name);

/// Parses a list of token ids, called `name`. Errors: JsonError when it is not a list of integers,
/// or empty.
std::vector<std::int64_t> ids_of(const formats::JsonValue& value, const char* name);

/// Parses `messages` of a row. Errors: JsonError when it is not a list of messages with a `role`
/// and a `content`, or empty.
std::vector<text::ChatMessage> messages_of(const formats::JsonValue& value);

}  // namespace mgpu::rows
