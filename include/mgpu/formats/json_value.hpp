#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>

namespace mgpu::formats {

/// A JSON document as a plain tree, for modules without a JSON library that read config.json and
/// similar files.
class JsonValue {
public:
  using List = std::vector<JsonValue>;
  using Members = std::vector<std::pair<std::string, JsonValue>>;  // in the order of the file
  using Held = std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Members>;

  JsonValue() = default;
  explicit JsonValue(Held held) : held_(std::move(held)) {}

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(held_); }
  const Held& held() const { return held_; }

  /// Returns nullptr if the value has another type.
  const bool* flag() const { return std::get_if<bool>(&held_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&held_); }
  const double* real() const { return std::get_if<double>(&held_); }
  const std::string* text() const { return std::get_if<std::string>(&held_); }
  const List* list() const { return std::get_if<List>(&held_); }
  const Members* members() const { return std::get_if<Members>(&held_); }

  /// Returns the member of an object; nullptr if it is missing, or this is not an object.
  const JsonValue* find(std::string_view name) const;

private:
  Held held_ = nullptr;
};

/// Why a JSON text is invalid, as a phrase that follows "it cannot be used: ".
class JsonError : public Error {
public:
  explicit JsonError(std::string why, Where where = Where::here())
      : Error(why, where), why_(std::move(why)) {}

  const std::string& why() const noexcept { return why_; }

private:
  std::string why_;
};

/// Parses an untrusted text that holds one object. Checks depth (32), UTF-8 and repeated names.
/// Errors: JsonError; the caller adds the origin of the text.
JsonValue parse_json_object(std::string_view text);

/// Parses the object in an untrusted file. Size, depth (32) and repeated names are checked before
/// any value is used.
///
/// Errors: Failure E603 (missing, exit 66; larger than `limit_bytes`, exit 65), E622 (a Git LFS
///         pointer, exit 65), E623 (not one JSON object, or a name twice, exit 65).
JsonValue read_json_object(const fs::path& path, std::uint64_t limit_bytes);

/// Does the same for text that is already in memory; `path` is for messages.
JsonValue parse_json_object(const fs::path& path, std::string_view text);

/// Formats a value, indented by 2 as in transformers, with members in their order.
/// Errors: Error when a text is not UTF-8.
std::string to_json(const JsonValue& value);

/// The same on one line, without an end of line.
std::string to_json_line(const JsonValue& value);

}  // namespace mgpu::formats
