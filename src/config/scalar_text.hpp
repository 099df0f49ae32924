#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mgpu {

/// The number that the whole of `text` spells; nullopt if it spells none.
/// 12, -3; no sign +, leading zero, underscore, exponent or base prefix.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// 3, -0.5, .5, 3e-4; finite or not fitting (then infinite). Not: nan, inf, 0x10.
std::optional<double> parse_number(std::string_view text);
/// Seconds: 90, 1.5h, 30min, 24:00:00, 1-12:00:00.
std::optional<double> parse_duration(std::string_view text);
/// Bytes: 1000, 512MiB, 1.5GiB, 10MB.
std::optional<std::int64_t> parse_bytes(std::string_view text);

/// Whether `text` consists of digits, even if the number is too large.
bool is_digits(std::string_view text);

/// Whether YAML 1.1 reads the plain word as a boolean or as null: yes, no, on, off, y, ~ ...
bool is_yaml_word(std::string_view text);

/// The shortest text that reads back as the same number: 3e-4, 0.5, 90s, 30min, 48GiB.
std::string number_text(double value);
std::string duration_text(double seconds);
std::string bytes_text(std::int64_t bytes);

/// The text without a pair of quotes that encloses it.
std::string_view unquoted(std::string_view text);

/// The text as a YAML scalar: plain if every YAML reader takes it for text, else in double quotes.
std::string yaml_scalar(std::string_view text);

}  // namespace mgpu
