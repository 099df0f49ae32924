#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/config/foreign_values.hpp>
#include <mgpu/config/key_value.hpp>
#include <mgpu/config/nearest_name.hpp>
#include <mgpu/config/path_text.hpp>

#include "scalar_text.hpp"
#include "wrapped_yaml.hpp"

namespace mgpu {
namespace {

using Read = std::variant<KeyValue, ValueProblem>;

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ") {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : std::string(separator)) + word;
  return text;
}

/// Formats "expected an integer" or "expected an integer, or auto".
std::string expectation(const KeySpec& spec) {
  if (spec.type == KeyType::choice) return "expected one of: " + joined(spec.choices);
  std::string text = "expected " + type_in_words(spec.type);
  if (spec.may_map) text += " or {name: value}";
  if (!spec.choices.empty()) text += ", or " + joined(spec.choices, " or ");
  return text;
}

ValueProblem wrong_type(const KeySpec& spec, std::string help = "") {
  return {"E104", expectation(spec), std::move(help)};
}

std::optional<ValueProblem> out_of_range(const KeySpec& spec, double value) {
  const auto bound = [&](double limit) {
    if (spec.type == KeyType::duration) return duration_text(limit);
    if (spec.type == KeyType::bytes) return bytes_text(static_cast<std::int64_t>(limit));
    return number_text(limit) + (spec.unit.empty() || limit < 2.0 ? "" : " " + spec.unit);
  };
  if (!std::isfinite(value)) return ValueProblem{"E106", "must be finite", ""};
  if (value < spec.min) return ValueProblem{"E106", "must be at least " + bound(spec.min), ""};
  if (value > spec.max) return ValueProblem{"E106", "must be at most " + bound(spec.max), ""};
  const bool counts_up = spec.type == KeyType::duration || spec.type == KeyType::bytes;
  if (counts_up && value < 0.0) return ValueProblem{"E106", "must not be negative", ""};
  return std::nullopt;
}

Read checked(const KeySpec& spec, double number, KeyValue value) {
  if (auto problem = out_of_range(spec, number)) return *problem;
  return value;
}

/// Returns "write 1000" for 1e3, 1_000 and 0x3E8. Returns "" if the text is not a whole number with
/// a magnitude below 2^53 in any of these notations.
std::string integer_help(std::string_view text) {
  std::string digits(text);
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  if (digits.starts_with('+')) digits.erase(0, 1);
  std::optional<double> value = parse_number(digits);
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    char* end = nullptr;
    value = static_cast<double>(std::strtoull(digits.c_str(), &end, 16));
    if (*end != '\0') return "";
  }
  const bool whole = value && std::abs(*value) < 0x1p53 && std::floor(*value) == *value;
  if (!whole) return "";
  return "write " + std::to_string(static_cast<std::int64_t>(*value));
}

Read read_integer(const KeySpec& spec, const std::string& text) {
  if (const auto integer = parse_integer(text)) {
    return checked(spec, static_cast<double>(*integer),
                   {.text = std::to_string(*integer), .integer = *integer});
  }
  const std::string help = integer_help(text);
  if (is_digits(text) && help.empty()) {
    return ValueProblem{"E106", "does not fit in 64 bits", ""};
  }
  return wrong_type(spec, help);
}

Read read_number(const KeySpec& spec, const std::string& text) {
  constexpr std::array<std::string_view, 10> kNotFinite = {".nan", ".NaN",  ".NAN", "nan", "NaN",
                                                           ".inf", "-.inf", ".Inf", "inf", "-inf"};
  const auto number = parse_number(text);
  if (number) return checked(spec, *number, {.text = number_text(*number), .number = *number});
  if (std::ranges::find(kNotFinite, text) != kNotFinite.end())
    return ValueProblem{"E106", "must be finite", ""};
  return wrong_type(spec);
}

Read read_flag(const KeySpec& spec, const std::string& text) {
  if (text == "true" || text == "false") return KeyValue{.text = text, .integer = text == "true"};
  if (!is_yaml_word(text) && text != "0" && text != "1") return wrong_type(spec);
  const bool means_true = std::string_view("yYtT1").find(text[0]) != std::string_view::npos ||
                          text == "on" || text == "On" || text == "ON";
  return wrong_type(spec, std::string("write ") + (means_true ? "true" : "false"));
}

Read read_duration(const KeySpec& spec, const std::string& text) {
  std::optional<double> seconds = parse_duration(text);
  if (!seconds) seconds = parse_number(text);  // for numbers with an exponent or a sign
  if (!seconds) return wrong_type(spec);
  if (*seconds < 0.0) return ValueProblem{"E106", "must not be negative", ""};
  if (std::isinf(*seconds)) return ValueProblem{"E106", "must be finite", ""};
  return checked(spec, *seconds, {.text = duration_text(*seconds), .number = *seconds});
}

Read read_bytes(const KeySpec& spec, const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes && is_digits(text)) return ValueProblem{"E106", "does not fit in 64 bits", ""};
  if (!bytes) return wrong_type(spec);
  return checked(spec, static_cast<double>(*bytes),
                 {.text = bytes_text(*bytes), .integer = *bytes});
}

Read read_text(const KeySpec& spec, const std::string& text, bool may_look_like_anything) {
  if (!may_look_like_anything && is_yaml_word(text)) {
    return ValueProblem{"E104", "many YAML readers take this for a boolean, not for text",
                        "write \"" + text + "\""};
  }
  if (spec.type == KeyType::path && text.empty()) {
    return ValueProblem{"E107", "a path may not be empty",
                        "without the key it is `" + spec.default_value + "`"};
  }
  if (spec.type == KeyType::path && text.size() > kMaxPathBytes && !is_marked_text(spec, text)) {
    return ValueProblem{"E106", "a path may have 4095 bytes", ""};
  }
  if (const char* wrong = spec.why_not == nullptr ? nullptr : spec.why_not(text)) {
    return ValueProblem{"E107", wrong, ""};
  }
  return KeyValue{.text = text};
}

Read read_choice(const KeySpec& spec, const std::string& text) {
  std::string help;
  if (const std::string ours = translated_value(text, spec.choices); !ours.empty()) {
    help = "`" + text + "` is called `" + ours + "` here";
  } else if (const std::string nearest = nearest_name(text, spec.choices); !nearest.empty()) {
    help = "did you mean `" + nearest + "`?";
  }
  return ValueProblem{"E105", expectation(spec), help};
}

Read read_scalar(const KeySpec& spec, const YamlNode& node) {
  const bool from_file = node.place.line > 0;
  const bool is_text = spec.type == KeyType::text || spec.type == KeyType::path;
  if (contains(spec.choices, node.text)) return KeyValue{.text = node.text, .is_word = true};
  if (node.quoted && from_file && !is_text && spec.type != KeyType::choice) {
    return wrong_type(spec, "remove the quotes");
  }
  switch (spec.type) {
    case KeyType::integer:
      return read_integer(spec, node.text);
    case KeyType::number:
      return read_number(spec, node.text);
    case KeyType::flag:
      return read_flag(spec, node.text);
    case KeyType::text:
    case KeyType::path:
      return read_text(spec, node.text, node.quoted || !from_file);
    case KeyType::choice:
      return read_choice(spec, node.text);
    case KeyType::duration:
      return read_duration(spec, node.text);
    case KeyType::bytes:
      return read_bytes(spec, node.text);
    case KeyType::integers:
    case KeyType::texts:
      break;
  }
  return wrong_type(spec);
}

/// Returns the KeySpec of one element of a list.
KeySpec element_of(const KeySpec& spec) {
  KeySpec element = spec;
  element.type = spec.type == KeyType::integers ? KeyType::integer : KeyType::text;
  element.choices.clear();
  return element;
}

/// Returns one node for each integer of a range such as 0-3. Returns an empty list if `item` is not
/// a range, or is a range of more than kMost integers.
std::vector<YamlNode> integers_of_range(const YamlNode& item) {
  constexpr std::int64_t kMost = 65536;
  const std::size_t dash = item.text.find('-');
  if (dash == 0 || dash == std::string::npos) return {};
  const auto first = parse_integer(item.text.substr(0, dash));
  const auto last = parse_integer(item.text.substr(dash + 1));
  if (!first || !last || *last < *first || *last - *first >= kMost) return {};
  std::vector<YamlNode> all;
  for (std::int64_t value = *first; value <= *last; ++value) {
    all.push_back(item);
    all.back().text = std::to_string(value);
  }
  return all;
}

/// Returns `items`. If the key is a list of integers, ranges such as 0-3 are replaced by their
/// integers.
std::vector<YamlNode> without_ranges(const KeySpec& spec, const std::vector<YamlNode>& items) {
  if (spec.type != KeyType::integers) return items;
  std::vector<YamlNode> all;
  for (const YamlNode& item : items) {
    const std::vector<YamlNode> range = integers_of_range(item);
    if (range.empty()) all.push_back(item);
    all.insert(all.end(), range.begin(), range.end());
  }
  return all;
}

/// Reads the items of a list, or the values of a mapping, into `values`. Returns the problem of the
/// first wrong element, or nullopt if all elements are right.
std::optional<Read> read_elements(const KeySpec& spec, const std::vector<YamlNode>& items,
                                  std::vector<KeyValue>& values) {
  const KeySpec element = element_of(spec);
  for (const YamlNode& item : items) {
    if (item.kind != YamlNode::Kind::scalar) return wrong_type(spec);
    Read read = read_scalar(element, item);
    if (auto* problem = std::get_if<ValueProblem>(&read)) {
      problem->place = item.place;
      return read;
    }
    values.push_back(std::get<KeyValue>(std::move(read)));
  }
  return std::nullopt;
}

Read read_list(const KeySpec& spec, const std::vector<YamlNode>& written) {
  std::vector<KeyValue> values;
  if (auto wrong = read_elements(spec, without_ranges(spec, written), values)) return *wrong;
  KeyValue list;
  for (KeyValue& value : values) {
    list.text += (list.text.empty() ? "" : ", ") +
                 (spec.type == KeyType::texts ? yaml_scalar(value.text) : value.text);
    if (spec.type == KeyType::integers) {
      list.integers.push_back(value.integer);
    } else {
      list.texts.push_back(std::move(value.text));
    }
  }
  list.text = "[" + list.text + "]";
  return list;
}

/// Reads {NAME: VALUE} for a key of type `texts` with KeySpec::may_map, which accepts a list or a
/// mapping.
Read read_names(const KeySpec& spec, const std::vector<YamlNode>& items) {
  std::vector<KeyValue> values;
  if (auto wrong = read_elements(spec, items, values)) return *wrong;
  KeyValue mapping;
  for (std::size_t i = 0; i < items.size(); ++i) {
    mapping.text +=
        (i == 0 ? "" : ", ") + yaml_scalar(items[i].key) + ": " + yaml_scalar(values[i].text);
    mapping.texts.push_back(items[i].key);
    mapping.values.push_back(std::move(values[i].text));
  }
  mapping.text = "{" + mapping.text + "}";
  return mapping;
}

/// Reads a mapping. Returns E104 unless the key accepts mappings (KeySpec::may_map), or has a
/// function that makes a list from a mapping (KeySpec::list_of_mapping).
Read read_mapping(const KeySpec& spec, const YamlNode& node) {
  if (spec.may_map) return read_names(spec, node.items);
  if (spec.list_of_mapping == nullptr) return wrong_type(spec);
  std::vector<std::pair<std::string, std::string>> entries;
  for (const YamlNode& item : node.items)
    entries.emplace_back(item.key, item.kind == YamlNode::Kind::scalar ? item.text : "");
  const MappedList list = spec.list_of_mapping(entries);
  if (!list.problem.empty()) return ValueProblem{"E107", list.problem, list.help};
  std::vector<YamlNode> items(list.items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].kind = YamlNode::Kind::scalar;
    items[i].text = list.items[i];
    items[i].place = node.place;
  }
  return read_list(spec, items);
}

/// Reads a mapping that is written as text, such as "{a: 1}". All entries get the place of the
/// whole text.
Read read_mapping_text(const KeySpec& spec, const YamlNode& node) {
  YamlDocument document = read_yaml("mapping: " + wrapped_yaml(node.text, 1), "");
  const bool is_mapping = document.problems.empty() && document.root.items.size() == 1 &&
                          document.root.items[0].kind == YamlNode::Kind::mapping;
  if (!is_mapping) return wrong_type(spec);
  YamlNode& mapping = document.root.items[0];
  mapping.place = node.place;
  for (YamlNode& item : mapping.items)
    item.place = node.place;
  return read_mapping(spec, mapping);
}

/// Reads a list or mapping that is written as text, such as `[1, 3]`, `1,3` or `[a, "b, c"]`. Each
/// element gets the place of the whole text.
Read read_list_text(const KeySpec& spec, const YamlNode& node) {
  if (node.text.starts_with('{')) return read_mapping_text(spec, node);
  const bool bracketed = node.text.starts_with('[');
  const std::string flow = bracketed ? node.text : "[" + node.text + "]";
  YamlDocument list = read_yaml("list: " + wrapped_yaml(flow, 1), "");
  const bool is_list = list.problems.empty() && list.root.items.size() == 1 &&
                       list.root.items[0].kind == YamlNode::Kind::sequence;
  const bool is_blank = node.text.find_first_not_of(" \n\t,") == std::string::npos;
  if (!is_list || (is_blank && !node.text.empty()))
    return wrong_type(spec, is_blank && spec.type == KeyType::texts
                                ? "put it into double quotes, as in \"\\n\""
                                : "");
  std::vector<YamlNode>& items = list.root.items[0].items;
  for (YamlNode& item : items)
    item.place = node.place;
  return read_list(spec, items);
}

}  // namespace

Read read_key_value(const KeySpec& spec, const YamlNode& node) {
  const bool is_list = spec.type == KeyType::integers || spec.type == KeyType::texts;
  switch (node.kind) {
    case YamlNode::Kind::null:
      if (contains(spec.choices, "null")) return KeyValue{.text = "null", .is_word = true};
      return wrong_type(spec);
    case YamlNode::Kind::mapping:
      return is_list ? read_mapping(spec, node) : wrong_type(spec);
    case YamlNode::Kind::sequence:
      return is_list ? read_list(spec, node.items) : wrong_type(spec);
    case YamlNode::Kind::scalar:
      break;
  }
  if (!is_list || contains(spec.choices, node.text)) return read_scalar(spec, node);
  const bool is_element = spec.type == KeyType::texts && node.quoted && !node.text.empty();
  return is_element ? read_list(spec, {node}) : read_list_text(spec, node);
}

Read read_key_value(const KeySpec& spec, std::string_view text) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = text;
  return read_key_value(spec, node);
}

KeyValue default_value(const KeySpec& spec) {
  Read read = read_key_value(spec, unquoted(spec.default_value));
  if (const auto* problem = std::get_if<ValueProblem>(&read)) {
    throw Error("the default of `" + spec.name + "` is wrong: " + problem->under);
  }
  return std::get<KeyValue>(std::move(read));
}

std::string yaml_of(const KeySpec& spec, const KeyValue& value) {
  if (value.is_word && value.text == "null") return value.text;
  const bool may_be_path = !value.is_word && spec.type == KeyType::path;
  if (may_be_path)
    return yaml_scalar(is_path(spec, value.text) ? unexpanded_path(value.text) : value.text);
  const bool is_text = value.is_word || spec.type == KeyType::text;
  return escaped_text(is_text ? yaml_scalar(value.text) : value.text);
}

}  // namespace mgpu
