#pragma once

#include <string>

#include <mgpu/config/config.hpp>

namespace mgpu {

/// The job's keys with their values as canonical YAML; read back, it gives the same config.
std::string print_resolved(const Config& config);

/// The keys that were given, each with a comment that names its source.
std::string print_changed(const Config& config);

/// Every key that a job reads, with default and explanation: conf/JOB/full.yaml. With `job` "",
/// every key of the table.
std::string print_full(const KeyTable& table, const std::string& job = "");

/// Every key of the job, with its value, source and explanation.
std::string print_full(const Config& config);

/// The job's keys as JSON, nested like the YAML, numbers as numbers.
std::string print_json(const Config& config);

/// The page of one key, which --explain KEY prints.
std::string key_page(const KeySpec& spec);

/// "integer, 1 or more, steps; or auto": the values that a key takes, in words.
std::string values_in_words(const KeySpec& spec);

/// The reference in conf/README.md: a Markdown table per section.
std::string key_reference_markdown(const KeyTable& table);

}  // namespace mgpu
