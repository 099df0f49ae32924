#include "json_row.hpp"

#include <charconv>
#include <cstdint>

#include "row_error.hpp"

namespace mgpu::input {
namespace {

using formats::JsonValue;

constexpr std::size_t kSafeDigits = 18;  // any integer of this many digits fits std::int64_t

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

/// Returns the offset just past the JSON string that begins with the quote at `begin`.
std::size_t end_of_text(std::string_view json, std::size_t begin) {
  for (std::size_t i = begin + 1; i < json.size(); ++i) {
    if (json[i] == '\\') {
      ++i;
    } else if (json[i] == '"') {
      return i + 1;
    }
  }
  return json.size();
}

/// Returns the offset of the first character, from `begin` on, that cannot be part of a number.
std::size_t end_of_number(std::string_view json, std::size_t begin) {
  const std::size_t end = json.find_first_not_of("+-.0123456789eE", begin);
  return end == std::string_view::npos ? json.size() : end;
}

bool is_large_integer(std::string_view number) {
  const std::string_view digits = number.substr(number.starts_with('-') ? 1 : 0);
  if (digits.size() <= kSafeDigits || digits[0] == '0') return false;
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return false;
  std::int64_t value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  return read.ec == std::errc::result_out_of_range;
}

/// Returns whether the text has more than kSafeDigits digits in a row, so that a number may not fit
/// std::int64_t.
bool has_many_digits(std::string_view json) {
  std::size_t digits = 0;
  for (const char byte : json) {
    digits = is_digit(byte) ? digits + 1 : 0;
    if (digits > kSafeDigits) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> quote_large_integers(std::string_view text) {
  if (!has_many_digits(text)) return std::nullopt;
  std::string quoted;
  bool has_any = false;
  for (std::size_t i = 0; i < text.size();) {
    const bool is_number = is_digit(text[i]) || text[i] == '-';
    std::size_t end = i + 1;
    if (text[i] == '"') end = end_of_text(text, i);
    if (is_number) end = end_of_number(text, i);
    const std::string_view token = text.substr(i, end - i);
    const bool is_large = is_number && is_large_integer(token);
    has_any = has_any || is_large;
    quoted += is_large ? '"' + std::string(token) + '"' : std::string(token);
    i = end;
  }
  if (!has_any) return std::nullopt;
  return quoted;
}

JsonValue parse_row_object(std::string_view text) {
  const std::optional<std::string> quoted = quote_large_integers(text);
  try {
    return formats::parse_json_object(quoted ? std::string_view(*quoted) : text);
  } catch (const formats::JsonError& error) {
    throw RowError(error.why());
  }
}

JsonValue parse_cell(std::string_view text) {
  const JsonValue object = parse_row_object("{\"cell\": " + std::string(text) + "}");
  if (object.members()->size() != 1) throw RowError("it is not one JSON value");
  return object.members()->front().second;
}

}  // namespace mgpu::input
