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
  std::string text{};  // of a scalar, unquoted
  bool quoted = false;
  Place place{};                  // of the value; of its key where the value is left out
  std::vector<YamlNode> items{};  // in the order of the file; a mapping has no key twice
  std::string key{};              // of an item of a mapping
  Place key_place{};
};

struct YamlDocument {
  YamlNode root;
  bool complete = true;  // false: reading stopped early, and the tree ends there
  std::vector<Problem> problems{};
};

/// The limits of a file, which keep the reader fast and small on any input.
struct YamlLimits {
  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  static constexpr std::size_t kLineBytes = std::size_t{1} << 14;
  static constexpr std::size_t kNodes = 100'000;
  static constexpr std::size_t kDepth = 32;
  static constexpr std::size_t kProblems = 1000;  // further problems are not recorded
};

/// Reads the part of YAML that a person writes by hand into a configuration, strictly.
///
/// Refused: doubled keys, anchors, aliases, tags, directives, several documents, keys that are not
/// plain text, and quoted text over several lines. Also tabs as indentation, "${", control
/// characters, anything but UTF-8, and files beyond YamlLimits. All problems are collected; after a
/// tab or an unclosed quote, reading goes on as if the line were correct.
///
/// Errors: none; every mistake is a Problem of code E103, E108, E109 or E110 at its place in
///         `origin`.
YamlDocument read_yaml(std::string_view text, const std::string& origin);

/// Formats `text` as a double-quoted YAML scalar on one line.
std::string yaml_quoted(std::string_view text);

}  // namespace mgpu
