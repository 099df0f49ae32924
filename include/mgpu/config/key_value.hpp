#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <mgpu/config/key_table.hpp>
#include <mgpu/config/yaml_document.hpp>

namespace mgpu {

/// A valid value of a key; `text` is its canonical spelling.
struct KeyValue {
  std::string text;          // "3e-4", "30min", "[1, 3]", "auto"
  double number = 0.0;       // the value, for types number and duration (seconds)
  std::int64_t integer = 0;  // the value, for types integer and bytes; 1 for a true flag
  std::vector<std::int64_t> integers{};
  std::vector<std::string> texts{};
  std::vector<std::string> values{};  // of a mapping: the value of each name in `texts`
  bool is_word = false;               // true: `text` is one of KeySpec::choices, such as `auto`
};

/// Why a value of a file or of the command line is not valid.
struct ValueProblem {
  std::string code;   // E104 type, E105 choice, E106 range, E107 rule, E110 or E115 a path
  std::string under;  // "expected an integer"
  std::string help{};
  Place place{};  // place of the wrong element of a list; no origin: the whole value is wrong
};

/// Reads `node` as a value of `spec`, strictly: `0x10`, `1e3` and `010` are not integers, `yes` is
/// not a flag, and quoted digits are text. A node without a line number comes from the command
/// line, where the shell has removed the quotes. For such a node, a key of type text accepts yes
/// and no without quotes.
std::variant<KeyValue, ValueProblem> read_key_value(const KeySpec& spec, const YamlNode& node);

/// Reads `text` as a value of `spec`, as typed on the command line. Lists may be written [1, 3],
/// 1,3 or, for integers, 0-3.
std::variant<KeyValue, ValueProblem> read_key_value(const KeySpec& spec, std::string_view text);

/// Returns the key's default.
/// Errors: Error when it does not parse.
KeyValue default_value(const KeySpec& spec);

/// Formats the value as YAML for --print-config. The text is quoted where YAML 1.1 or 1.2 might
/// read it as something other than text. A `$` that would stand for a variable is doubled.
std::string yaml_of(const KeySpec& spec, const KeyValue& value);

}  // namespace mgpu
