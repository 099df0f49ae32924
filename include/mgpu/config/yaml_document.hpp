#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/config/config_problem.hpp>

namespace mgpu {

/// A value of a YAML file, and its place.
struct YamlNode {
  enum class Kind { null, scalar, sequence, mapping };

  Kind kind = Kind::null;
  std::string text{};  // text of a scalar, without quotes; "" for other nodes
  bool quoted = false;
  Place place{};                  // place of the value, or of the key if the value is missing
  std::vector<YamlNode> items{};  // in the order of the file; a mapping has no key twice
  std::string key{};              // key of an item of a mapping; "" for other nodes
  Place key_place{};
};

struct YamlDocument {
  YamlNode root;
  bool complete = true;  // false: reading stopped early, and later text is missing from the tree
  std::vector<Problem> problems{};
};

/// The limits of the files that read_yaml() reads. With these limits, read_yaml() takes little time
/// and memory on any input.
struct YamlLimits {
  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  static constexpr std::size_t kLineBytes = std::size_t{1} << 14;
  static constexpr std::size_t kNodes = 100'000;
  static constexpr std::size_t kDepth = 32;
  static constexpr std::size_t kProblems = 1000;  // further problems are not recorded
};

/// Parses the part of YAML that people write by hand into a configuration, strictly.
///
/// It refuses repeated keys, anchors, aliases, merge keys, tags, directives, several documents, and
/// keys that are lists or mappings. Text over several lines needs `|` or `>`, or double quotes and
/// a backslash at the end of each line but the last. It also refuses tabs as indentation, control
/// characters, bytes that are not UTF-8, and files beyond YamlLimits.
/// After a tab or an unclosed quote, read_yaml() records the problem and continues as if the line
/// were correct. After an error in the structure, it stops.
///
/// Errors: none; every mistake becomes a Problem E103, E108, E109 or E110 with its place. `origin`
///         names the file in places.
YamlDocument read_yaml(std::string_view text, const std::string& origin);

/// Formats `text` as a double-quoted YAML scalar on one line.
std::string yaml_quoted(std::string_view text);

}  // namespace mgpu
