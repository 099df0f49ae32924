#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/text/chat_template.hpp>

namespace mgpu::rows {

/// A text of a line of JSON. Errors: JsonError when `value`, called `name`, is absent or no text.
const std::string& text_of(const formats::JsonValue* value, const char* name);

/// The member of an object; nullptr where there is none, or it is null.
const formats::JsonValue* member_of(const formats::JsonValue& object, const char* name);

/// The token ids in a list, called `name`. Errors: JsonError when it is no list of integers, or
/// empty.
std::vector<std::int64_t> token_ids_of(const formats::JsonValue& value,
                                       const char* name = "token_ids");

/// What stands in `messages` of a line. Errors: JsonError when it is no list of messages with a
/// `role` and a `content`, or empty.
std::vector<text::ChatMessage> messages_of(const formats::JsonValue& value);

}  // namespace mgpu::rows
