#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <mgpu/base/file_io.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::lm {

/// Reads the members of an object of a JSON configuration file by name, and checks their types. A
/// member that is null counts as absent. If a field has several names, the first name that is
/// present counts. Functions whose names end with `_or` return `standard` for an absent field. A
/// ConfigFields keeps references to both arguments of its constructor, which have to outlive it.
///
/// Errors: Failure E702, which names the file and the field, for a missing or invalid value.
class ConfigFields {
public:
  using Names = std::initializer_list<std::string_view>;

  ConfigFields(const fs::path& path, const formats::JsonValue& object)
      : path_(path), object_(object) {}

  const formats::JsonValue* find(Names names) const;
  bool has(Names names) const { return find(names) != nullptr; }
  bool is_null(std::string_view name) const;  // true: present and null
  const formats::JsonValue& value() const { return object_; }

  /// Returns a whole number from `min` to `max`. The field must be present.
  std::int64_t integer(Names names, std::int64_t min = 1, std::int64_t max = INT32_MAX) const;
  std::int64_t integer_or(Names names, std::int64_t standard, std::int64_t min = 1) const;
  double number(Names names) const;  // the field must be present, and the number finite
  double number_or(Names names, double standard) const;
  bool flag_or(Names names, bool standard) const;
  std::string text_or(Names names, std::string_view standard) const;

  /// Returns a nested object; nullopt for an absent field.
  std::optional<ConfigFields> object(Names names) const;

  [[noreturn]] void refuse_value(const std::string& why) const;  // throws E702
  /// Throws E701. The message says that the model is not supported because of `what`, and then
  /// shows `supported`, a list of what would be valid.
  [[noreturn]] void refuse_feature(const std::string& what, const std::string& supported) const;

private:
  const fs::path& path_;
  const formats::JsonValue& object_;
};

}  // namespace mgpu::lm
