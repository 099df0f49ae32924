#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>

namespace mgpu::text {

/// A value of a JSON file. For error messages, the object knows the value's place inside the file,
/// such as model.merges[7]. A value of a wrong type is refused.
///
/// Memory: refers to the parsed document and to `file`, which both must outlive the object
/// Errors: E541 (malformed, exit 65) with the name of the file and the place of the value
class JsonNode {
public:
  JsonNode(const fs::path& file, simdjson::dom::element value, std::string place = "")
      : file_(&file), value_(value), place_(std::move(place)) {}

  /// Returns the member `key` of an object; nullopt if the member is absent or null.
  std::optional<JsonNode> find(std::string_view key) const;
  /// Returns whether the member `key` exists, even if it is null.
  bool has(std::string_view key) const;
  /// Returns the member `key`. Errors: E541 if the member is absent or null.
  JsonNode at(std::string_view key) const;
  std::vector<JsonNode> items() const;
  /// Returns the members of an object that are not null, with their keys, in the order of the file.
  std::vector<std::pair<std::string_view, JsonNode>> members() const;

  std::string_view text() const;
  bool flag() const;
  std::int64_t integer(std::int64_t min, std::int64_t max) const;
  /// Returns the member `key`, true or false; `standard` if the member is absent or null.
  bool flag(std::string_view key, bool standard) const;

  bool is_text() const { return value_.is_string(); }
  bool is_list() const { return value_.is_array(); }
  bool is_object() const { return value_.is_object(); }
  simdjson::dom::element value() const { return value_; }
  const std::string& place() const { return place_; }
  const fs::path& file() const { return *file_; }

  /// Throws E541, which says that this value is malformed. `why` is the reason in the message.
  [[noreturn]] void refuse(std::string_view why) const;
  /// Throws E542, which says that `what`, a feature that this value needs, is not supported.
  [[noreturn]] void not_supported(std::string_view what, std::string_view help = "") const;
  /// Throws E542, which says that this value, a text, is not supported as a `kind` (such as
  /// "decoder"). `known` lists the supported values.
  [[noreturn]] void unknown_choice(std::string_view kind, std::string_view known) const;

private:
  std::string place_of(std::string_view key) const;

  const fs::path* file_;
  simdjson::dom::element value_;
  std::string place_;
};

/// A parsed JSON file. The second constructor parses `text`, and uses `name` only in messages.
/// Errors: E603 (missing), E622 (a Git LFS pointer), E541 (malformed)
class JsonFile {
public:
  explicit JsonFile(fs::path path);
  JsonFile(fs::path name, std::string_view text);

  JsonNode root() const { return {path_, root_}; }

private:
  void parse(std::string_view text);

  fs::path path_;
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

}  // namespace mgpu::text
