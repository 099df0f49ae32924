#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mgpu {

/// Parses an integer such as 12 or -3. Returns nullopt for any other text, and for integers that do
/// not fit in 64 bits. A sign +, leading zeros, underscores, exponents and base prefixes are
/// refused.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// Parses a number such as 3, -0.5, .5 or 3e-4. Returns nullopt for any other text, such as nan,
/// inf or 0x10. A number whose magnitude is too large for a double gives infinity with its sign. A
/// number whose magnitude is too small gives 0 or a subnormal number.
std::optional<double> parse_number(std::string_view text);
/// Parses a duration such as 90, 1.5h, 30min, 24:00:00 or 1-12:00:00, and returns seconds. Returns
/// nullopt for any other text.
std::optional<double> parse_duration(std::string_view text);
/// Parses a size such as 1000, 512MiB, 1.5GiB or 10MB, and returns bytes. Returns nullopt for any
/// other text, and for sizes that are too large. A size without unit and decimal point must fit in
/// 64 bits. Any other size must be below 2^62 bytes.
std::optional<std::int64_t> parse_bytes(std::string_view text);

/// Returns whether `text` consists of digits after an optional `-`, even if the number is too
/// large.
bool is_digits(std::string_view text);

/// Returns whether `text` has a control character other than newline and tab.
bool has_control(std::string_view text);

/// Returns whether a YAML 1.1 reader may take `text` without quotes for a boolean or for null, such
/// as yes, no, on, off, y and ~. Letter case does not matter.
bool is_yaml_word(std::string_view text);

/// Formats a short text that reads back as the same number: 3e-4, 0.5.
std::string number_text(double value);
/// Formats a short text that reads back as the same duration: 90s, 30min.
std::string duration_text(double seconds);
/// Formats a short text that reads back as the same size: 1000, 48GiB.
std::string bytes_text(std::int64_t bytes);

/// Returns `text` without its quotes if it begins and ends with the same quote, " or '. Otherwise
/// returns `text` itself.
std::string_view unquoted(std::string_view text);

/// Formats the text as a YAML scalar: plain only if every YAML reader takes it for text, otherwise
/// in double quotes.
std::string yaml_scalar(std::string_view text);

}  // namespace mgpu
