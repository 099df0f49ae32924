#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>

namespace mgpu::formats {

/// Thrown when a JSON text or value is invalid. why() is a phrase that messages put after "cannot
/// be used: ".
class JsonError : public Error {
public:
  explicit JsonError(std::string why, Where where = Where::here())
      : Error(why, where), why_(std::move(why)) {}

  const std::string& why() const noexcept { return why_; }

private:
  std::string why_;
};

/// A JSON document as a plain tree. All modules parse JSON into JsonValue, except module `text` and
/// the reader of safetensors headers.
///
/// Values convert implicitly: JsonValue::Members{{"step", 3}, {"host", name}} is an object.
class JsonValue {
public:
  using List = std::vector<JsonValue>;
  using Members = std::vector<std::pair<std::string, JsonValue>>;  // in the order of the text
  using Held = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
                            List, Members>;

  JsonValue() = default;
  // NOLINTBEGIN(google-explicit-constructor)
  JsonValue(std::nullptr_t) {}
  template <std::same_as<bool> T>  // excludes pointers, which convert to bool
  JsonValue(T value) : held_(value) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) JsonValue(T value) {
    if (std::in_range<std::int64_t>(value)) {
      held_ = static_cast<std::int64_t>(value);
    } else {
      held_ = static_cast<std::uint64_t>(value);
    }
  }
  template <std::floating_point T>
  JsonValue(T value) : held_(static_cast<double>(value)) {}
  JsonValue(std::string text) : held_(std::move(text)) {}
  JsonValue(std::string_view text) : held_(std::string(text)) {}
  JsonValue(const char* text) : held_(std::string(text)) {}
  JsonValue(List list) : held_(std::move(list)) {}
  JsonValue(Members members) : held_(std::move(members)) {}
  // NOLINTEND(google-explicit-constructor)

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(held_); }
  /// Returns the value. An integer above 2^63 - 1 is a std::uint64_t if the program made the value,
  /// and a double if the parser did.
  const Held& held() const { return held_; }

  /// Returns the value if it is a bool, otherwise nullptr. The functions integer(), real(), text(),
  /// list() and members() do the same for their types.
  const bool* flag() const { return std::get_if<bool>(&held_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&held_); }
  const double* real() const { return std::get_if<double>(&held_); }
  const std::string* text() const { return std::get_if<std::string>(&held_); }
  const List* list() const { return std::get_if<List>(&held_); }
  const Members* members() const { return std::get_if<Members>(&held_); }

  /// Returns the member `name` of an object; nullptr if it is missing, or if this value is not an
  /// object.
  const JsonValue* find(std::string_view name) const;

  /// Returns the member `name` of an object. Errors: JsonError if it is missing, or if this value
  /// is not an object.
  const JsonValue& at(std::string_view name) const;

  /// Converts the value to T: a bool, an integer, a double, a std::string or a JsonValue, or a
  /// std::vector of these, or a std::map from std::string to these. An integer may become a double.
  /// Errors: JsonError if the value has any other type, or is an integer out of range.
  template <class T>
  T as() const {
    T value{};
    if (!read(value)) throw JsonError("a value has the wrong type or range");
    return value;
  }

  /// Reads member `name` of an object, with the types and rules of as().
  /// Errors: JsonError if the member is missing, has a type other than T, or is an integer out of
  ///         range.
  template <class T>
  T get(std::string_view name) const {
    T value{};
    if (!at(name).read(value)) refuse(name);
    return value;
  }

private:
  bool read(bool& value) const;
  bool read(double& value) const;
  bool read(std::string& value) const;
  bool read(JsonValue& value) const;

  template <std::integral T>
  bool read(T& value) const {
    const std::int64_t* whole = integer();
    if (whole == nullptr || !std::in_range<T>(*whole)) return false;
    value = static_cast<T>(*whole);
    return true;
  }

  template <class T>
  bool read(std::vector<T>& values) const {
    if (list() == nullptr) return false;
    for (const JsonValue& item : *list())
      if (!item.read(values.emplace_back())) return false;
    return true;
  }

  template <class T>
  bool read(std::map<std::string, T>& values) const {
    if (members() == nullptr) return false;
    for (const auto& [name, value] : *members())
      if (!value.read(values[name])) return false;
    return true;
  }

  [[noreturn]] static void refuse(std::string_view name);

  Held held_ = nullptr;
};

/// Parses an untrusted text that holds one JSON object. Refuses more than 32 levels of nesting,
/// text that is not UTF-8, and repeated names.
/// Errors: JsonError. Its message does not say where the text comes from; the caller adds that.
JsonValue parse_json_object(std::string_view text);

/// Parses an untrusted file that holds one JSON object. Refuses files larger than `limit_bytes`,
/// more than 32 levels of nesting, text that is not UTF-8, and repeated names.
///
/// Errors: Failure E603 (missing, exit 66; larger than `limit_bytes`, exit 65; I/O error, exit 74),
///         E622 (a Git LFS pointer, exit 65), E623 (any other text that is refused, exit 65).
JsonValue read_json_object(const fs::path& path, std::uint64_t limit_bytes);

/// Parses the text of an untrusted file of a model, which holds one JSON object. Refuses more than
/// 32 levels of nesting, text that is not UTF-8, and repeated names. `path` is for messages.
/// Errors: Failure E622 (a Git LFS pointer, exit 65), E623 (any other text that is refused, exit
///         65).
JsonValue parse_json_object(const fs::path& path, std::string_view text);

/// How to_json() and to_json_line() write texts that are not UTF-8. `refuse` throws JsonError.
/// `replace` writes U+FFFD for each maximal subpart of an ill-formed sequence (Unicode 15.0,
/// section 3.9).
enum class BadUtf8 { refuse, replace };

/// Formats a value as JSON over several lines, indented by two spaces like the JSON files of
/// Hugging Face transformers. The text ends with a line end. Members keep their order. NaN and
/// infinities become null.
/// Errors: JsonError when a text is not UTF-8, unless `bad_utf8` is `replace`.
std::string to_json(const JsonValue& value, BadUtf8 bad_utf8 = BadUtf8::refuse);

/// Formats a value as JSON on one line without a line end. Members keep their order. NaN and
/// infinities become null.
/// Errors: JsonError when a text is not UTF-8, unless `bad_utf8` is `replace`.
std::string to_json_line(const JsonValue& value, BadUtf8 bad_utf8 = BadUtf8::refuse);

}  // namespace mgpu::formats
