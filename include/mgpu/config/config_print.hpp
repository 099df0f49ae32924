#pragma once

#include <string>

#include <mgpu/config/config.hpp>

namespace mgpu {

/// Formats the job's keys with their values as canonical YAML, which reads back as the same config.
std::string print_resolved(const Config& config);

/// Formats the keys that a file or the command line sets, each with a comment that names its
/// source.
std::string print_changed(const Config& config);

/// Formats every key that a job reads, with its default and explanation, as in conf/JOB/full.yaml.
/// If `job` is "", formats every key of the table.
std::string print_full(const KeyTable& table, const std::string& job = "");

/// Formats every key of the job, with its value, source and explanation.
std::string print_full(const Config& config);

/// Formats the job's keys as JSON, nested like the YAML, with numbers as numbers.
std::string print_json(const Config& config);

/// Returns the text about one key that --explain KEY prints.
std::string key_page(const KeySpec& spec);

/// Describes the values that a key takes, as in "integer, 1 or more, steps; or auto".
std::string values_in_words(const KeySpec& spec);

/// Returns the key reference of conf/README.md, which has a Markdown table per section.
std::string key_reference_markdown(const KeyTable& table);

}  // namespace mgpu
