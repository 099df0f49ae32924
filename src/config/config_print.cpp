#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <mgpu/config/config_print.hpp>
#include <mgpu/formats/json_value.hpp>

#include "scalar_text.hpp"
#include "wrapped_yaml.hpp"

namespace mgpu {
namespace {

/// One line of the YAML to print: a key, its value, comments.
struct YamlLine {
  std::string name;                  // "train.max_steps"
  std::string value;                 // the value as YAML
  std::vector<std::string> above{};  // comment lines in front of the key
  std::string comment{};             // comment after the value, on the same line
};

std::pair<std::string, std::string> split_name(const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

/// Formats the lines as nested sections. Keys without a section are first, then the sections in the
/// order of their first keys.
std::string nest(const std::vector<YamlLine>& lines, const std::string& indent) {
  std::string text;
  std::vector<std::pair<std::string, std::vector<YamlLine>>> sections;
  for (const YamlLine& line : lines) {
    const std::string section = split_name(line.name).first;
    if (section.empty()) {
      for (const std::string& comment : line.above)
        text += indent + "# " + comment + "\n";
      text += indent + line.name + ": " + wrapped_yaml(line.value, indent.size() + 2);
      text += (line.comment.empty() ? "" : "  # " + line.comment) + "\n";
      continue;
    }
    auto found = std::find_if(sections.begin(), sections.end(),
                              [&](const auto& known) { return known.first == section; });
    if (found == sections.end()) found = sections.insert(sections.end(), {section, {}});
    found->second.push_back(line);
    found->second.back().name = split_name(line.name).second;
  }
  for (const auto& [section, below] : sections)
    text += indent + section + ":\n" + nest(below, indent + "  ");
  return text;
}

using formats::JsonValue;

JsonValue::Members json_members(const KeyValue& mapping) {
  JsonValue::Members members;
  for (std::size_t i = 0; i < mapping.texts.size(); ++i)
    members.emplace_back(mapping.texts[i], mapping.values[i]);
  return members;
}

JsonValue json_of(const KeySpec& spec, const KeyValue& value) {
  if (value.is_word) return value.text == "null" ? JsonValue() : JsonValue(value.text);
  switch (spec.type) {
    case KeyType::integer:
    case KeyType::bytes:
      return value.integer;
    case KeyType::number:
    case KeyType::duration:
      return value.number;
    case KeyType::flag:
      return value.integer != 0;
    case KeyType::text:
    case KeyType::path:
    case KeyType::choice:
      return value.text;
    case KeyType::integers:
      return JsonValue::List(value.integers.begin(), value.integers.end());
    case KeyType::texts:
      return value.values.empty()
                 ? JsonValue(JsonValue::List(value.texts.begin(), value.texts.end()))
                 : JsonValue(json_members(value));
  }
  throw Error("unknown key type");
}

/// Returns the values nested in sections. Each section takes the position of its first key.
JsonValue nest(const JsonValue::Members& values) {
  JsonValue::Members nested;
  std::vector<std::string> sections;
  for (const auto& [name, value] : values) {
    const std::string section = split_name(name).first;
    if (section.empty()) {
      nested.emplace_back(name, value);
      continue;
    }
    if (std::find(sections.begin(), sections.end(), section) != sections.end()) continue;
    sections.push_back(section);
    JsonValue::Members below;
    for (const auto& [other, held] : values)
      if (split_name(other).first == section) below.emplace_back(split_name(other).second, held);
    nested.emplace_back(section, nest(below));
  }
  return nested;
}

std::string list_in_words(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string type_name(KeyType type) {
  switch (type) {
    case KeyType::integer:
      return "integer";
    case KeyType::number:
      return "number";
    case KeyType::flag:
      return "true or false";
    case KeyType::text:
      return "text";
    case KeyType::path:
      return "path";
    case KeyType::choice:
      return "choice";
    case KeyType::duration:
      return "duration (90, 30min, 24:00:00)";
    case KeyType::bytes:
      return "size (1000, 512MiB, 48GiB)";
    case KeyType::integers:
      return "list of integers";
    case KeyType::texts:
      return "list";
  }
  throw Error("unknown key type");
}

std::string bound_text(const KeySpec& spec, double bound) {
  if (spec.type == KeyType::duration) return duration_text(bound);
  if (spec.type == KeyType::bytes) return bytes_text(static_cast<std::int64_t>(bound));
  return number_text(bound);
}

std::string range_in_words(const KeySpec& spec) {
  const bool low = std::isfinite(spec.min);
  const bool high = std::isfinite(spec.max);
  if (low && high) return bound_text(spec, spec.min) + " to " + bound_text(spec, spec.max);
  if (low) return bound_text(spec, spec.min) + " or more";
  if (high) return bound_text(spec, spec.max) + " or less";
  return "";
}

/// Returns a cell of a Markdown table with each `|` escaped, because a `|` would end the cell.
std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.insert(at, "\\");
  return text;
}

}  // namespace

std::string print_resolved(const Config& config) {
  std::vector<YamlLine> lines;
  for (const KeySpec* spec : config.keys())
    lines.push_back({spec->name, yaml_of(*spec, config.value(spec->name))});
  return nest(lines, "");
}

std::string print_changed(const Config& config) {
  std::vector<YamlLine> lines;
  for (const KeySpec& spec : config.table().keys()) {
    if (!config.is_given(spec.name)) continue;
    lines.push_back({spec.name,
                     yaml_of(spec, config.value(spec.name)),
                     {},
                     source_of(config.place(spec.name))});
  }
  return nest(lines, "");
}

std::string print_full(const KeyTable& table, const std::string& job) {
  std::vector<YamlLine> lines;
  for (const KeySpec& spec : table.keys()) {
    if (!job.empty() && !spec.is_read_by(job)) continue;
    lines.push_back({spec.name,
                     spec.name == "job" && !job.empty() ? job : yaml_of(spec, default_value(spec)),
                     {spec.summary, values_in_words(spec)}});
  }
  return "# Every key" + (job.empty() ? "" : " of job " + job) +
         " with its default, made by --print-config=full from the table of keys.\n" +
         nest(lines, "");
}

std::string print_full(const Config& config) {
  std::vector<YamlLine> lines;
  for (const KeySpec* spec : config.keys()) {
    lines.push_back({spec->name,
                     yaml_of(*spec, config.value(spec->name)),
                     {spec->summary, values_in_words(*spec)},
                     source_of(config.place(spec->name))});
  }
  return "# Every key with its value and where it comes from.\n" + nest(lines, "");
}

std::string print_json(const Config& config) {
  JsonValue::Members values;
  for (const KeySpec* spec : config.keys())
    values.emplace_back(spec->name, json_of(*spec, config.value(spec->name)));
  return formats::to_json(nest(values));
}

std::string values_in_words(const KeySpec& spec) {
  if (spec.type == KeyType::choice) return list_in_words(spec.choices);
  std::string text = type_name(spec.type);
  if (!spec.file_ending.empty()) text = "path with / or " + spec.file_ending + ", or name";
  if (spec.may_map) text += " or {name: value}";
  if (!spec.text_mark.empty()) text += ", or text with " + spec.text_mark;
  if (const std::string range = range_in_words(spec); !range.empty()) text += ", " + range;
  if (!spec.unit.empty()) text += ", " + spec.unit;
  if (!spec.choices.empty()) text += "; or " + list_in_words(spec.choices);
  return text;
}

std::string key_page(const KeySpec& spec) {
  std::string page = spec.name + "\n  " + spec.summary + "\n\n";
  page += "  values   " + values_in_words(spec) + "\n";
  page += "  default  " +
          (spec.required ? "none, it must be given" : yaml_of(spec, default_value(spec))) + "\n";
  if (!spec.aliases.empty()) page += "  also     " + list_in_words(spec.aliases) + "\n";
  if (!spec.alias_note.empty()) page += "           under those names: " + spec.alias_note + "\n";
  page += "  read by  " + (spec.jobs.empty() ? "all jobs" : list_of(spec.jobs)) + "\n";
  page += spec.identity ? "  identity yes: another value is another run, with its own results\n"
                        : "  identity no: may differ when a run is resumed\n";
  return page;
}

std::string key_reference_markdown(const KeyTable& table) {
  std::string text;
  std::vector<std::string> sections;
  for (const KeySpec& spec : table.keys()) {
    const std::string section = split_name(spec.name).first;
    if (std::find(sections.begin(), sections.end(), section) == sections.end()) {
      sections.push_back(section);
    }
  }
  for (const std::string& section : sections) {
    text += text.empty() ? "" : "\n";
    text += "| key | default | values | what it does | jobs |\n|---|---|---|---|---|\n";
    for (const KeySpec& spec : table.keys()) {
      if (split_name(spec.name).first != section) continue;
      const std::string standard = spec.required ? "" : yaml_of(spec, default_value(spec));
      text += "| `" + spec.name + "` | " + (standard.empty() ? "" : "`" + cell(standard) + "`") +
              " | " + cell(values_in_words(spec)) + " | " + cell(spec.summary) + " | " +
              (spec.jobs.empty() ? "all" : list_of(spec.jobs)) + " |\n";
    }
  }
  return text;
}

}  // namespace mgpu
