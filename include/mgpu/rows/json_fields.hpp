#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/text/chat_template.hpp>

namespace mgpu::rows {

/// Returns `value` as a text. `name` is the name of the value for error messages. Errors: JsonError
/// when `value` is nullptr or not a text.
const std::string& text_of(const formats::JsonValue* value, const char* name);

/// Returns the member `name` of `object`; nullptr when it is absent or null.
const formats::JsonValue* member_of(const formats::JsonValue& object, const char* name);

/// Returns the right answer of a row, its member `answer`; "" if this member is absent or null. A
/// value that is not a text is returned as JSON.
std::string answer_of(const formats::JsonValue& row);

/// Returns the token ids in the list `value`. `name` is the name of the list for error messages.
/// Errors: JsonError when `value` is not a list of integers, or is empty.
std::vector<std::int64_t> ids_of(const formats::JsonValue& value, const char* name);

/// Returns the messages in the list `value`. `name` is the name of the list for error messages.
/// Errors: JsonError when `value` is not a list of messages with the texts `role` and `content`, or
///         is empty.
std::vector<text::ChatMessage> messages_of(const formats::JsonValue& value, const char* name);

}  // namespace mgpu::rows
