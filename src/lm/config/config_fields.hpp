#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <mgpu/base/file_io.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::lm {

/// The object of a configuration file with strict, named access. A member that is null counts
/// as absent. Several names of one field are tried in order.
///
/// Errors: Failure E702 naming file and field, unless said otherwise.
class ConfigFields {
public:
  using Names = std::initializer_list<std::string_view>;

  ConfigFields(const fs::path& path, const formats::JsonValue& object)
      : path_(path), object_(object) {}

  const formats::JsonValue* find(Names names) const;
  bool has(Names names) const { return find(names) != nullptr; }
  bool is_null(std::string_view name) const;  // given, and null
  const formats::JsonValue& value() const { return object_; }

  std::int64_t integer(Names names, std::int64_t min = 1) const;  // required
  std::int64_t integer_or(Names names, std::int64_t standard, std::int64_t min = 1) const;
  double number(Names names) const;  // required, finite
  double number_or(Names names, double standard) const;
  bool flag_or(Names names, bool standard) const;
  std::string text_or(Names names, std::string_view standard) const;

  /// An object inside; none where it is absent.
  std::optional<ConfigFields> object(Names names) const;

  [[noreturn]] void refuse_value(const std::string& why) const;  // E702
  /// E701: `what` is not supported; `supported` is what is.
  [[noreturn]] void refuse_feature(const std::string& what, const std::string& supported) const;

private:
  const fs::path& path_;
  const formats::JsonValue& object_;
};

}  // namespace mgpu::lm
