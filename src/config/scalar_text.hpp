#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mgpu {

// Each parse function returns the number that the whole of `text` spells, or nullopt.

/// Reads 12 or -3: without sign +, leading zero, underscore, exponent or base prefix.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// Reads 3, -0.5, .5 or 3e-4, but not nan, inf or 0x10. A number too large for a double gives
/// infinity.
std::optional<double> parse_number(std::string_view text);
/// Reads a duration as seconds: 90, 1.5h, 30min, 24:00:00, 1-12:00:00.
std::optional<double> parse_duration(std::string_view text);
/// Reads a size as bytes: 1000, 512MiB, 1.5GiB, 10MB.
std::optional<std::int64_t> parse_bytes(std::string_view text);

/// Returns whether `text` consists of digits after an optional `-`, even if the number is too
/// large.
bool is_digits(std::string_view text);

/// Returns whether YAML 1.1 reads the plain word as a boolean or as null: yes, no, on, off, y, ~
/// ...
bool is_yaml_word(std::string_view text);

/// Each of these formats the shortest text that reads back as the same number: 3e-4, 0.5, 90s,
/// 30min, 48GiB.
std::string number_text(double value);
std::string duration_text(double seconds);
std::string bytes_text(std::int64_t bytes);

/// Returns the text without the quotes around it, if it has them.
std::string_view unquoted(std::string_view text);

/// Formats the text as a YAML scalar: plain if every YAML reader takes it for text, else in double
/// quotes.
std::string yaml_scalar(std::string_view text);

}  // namespace mgpu
