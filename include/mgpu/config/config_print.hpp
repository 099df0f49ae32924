#pragma once

#include <string>

#include <mgpu/config/config.hpp>

namespace mgpu {

/// Formats the keys that the job reads, with their values, as canonical YAML. Reading this YAML
/// gives the same values of these keys.
std::string print_resolved(const Config& config);

/// Formats the keys that a file or the command line sets. A comment after each key names the file
/// and line, or the argument.
std::string print_changed(const Config& config);

/// Formats every key that `job` reads, with its default and explanation, as in conf/JOB/full.yaml.
/// If `job` is "", formats every key of the table.
std::string print_full(const KeyTable& table, const std::string& job = "");

/// Formats every key that the job reads, with its value, the source of the value, and an
/// explanation.
std::string print_full(const Config& config);

/// Formats the keys that the job reads as JSON, nested like the YAML; numbers are JSON numbers.
std::string print_json(const Config& config);

/// Returns the text that --explain KEY prints about a key.
std::string key_page(const KeySpec& spec);

/// Describes the values that a key takes, as in "integer, 1 or more, steps; or auto".
std::string values_in_words(const KeySpec& spec);

/// Returns the key reference of conf/README.md, which has a Markdown table per section.
std::string key_reference_markdown(const KeyTable& table);

}  // namespace mgpu
