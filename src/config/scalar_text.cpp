#include "scalar_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include <mgpu/config/yaml_document.hpp>

namespace mgpu {
namespace {

struct Unit {
  std::string_view name;
  double size;
};
constexpr std::array kDurationUnits = {Unit{"", 1.0},     Unit{"ms", 1e-3},  Unit{"s", 1.0},
                                       Unit{"sec", 1.0},  Unit{"min", 60.0}, Unit{"h", 3600.0},
                                       Unit{"d", 86400.0}};
constexpr std::array kByteUnits = {Unit{"", 1.0},
                                   Unit{"B", 1.0},
                                   Unit{"KB", 1e3},
                                   Unit{"MB", 1e6},
                                   Unit{"GB", 1e9},
                                   Unit{"TB", 1e12},
                                   Unit{"KiB", 1024.0},
                                   Unit{"MiB", 1048576.0},
                                   Unit{"GiB", 1073741824.0},
                                   Unit{"TiB", 1099511627776.0}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads a number that is followed by one of `units`, such as 90 (with the unit "") or 1.5h.
template <std::size_t N>
std::optional<double> parse_with_unit(std::string_view text, const std::array<Unit, N>& units) {
  const std::size_t letters = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<double> number = parse_number(text.substr(0, letters));
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& known) {
    return known.name == text.substr(letters);
  });
  if (!number || unit == units.end()) return std::nullopt;
  return *number * unit->size;
}

/// Reads 24:00:00 or 1-12:00:00.
std::optional<double> parse_clock(std::string_view text) {
  std::array<double, 4> parts{};  // days, hours, minutes, seconds
  const std::size_t dash = text.find('-');
  std::size_t part = dash == std::string_view::npos ? 1 : 0;
  constexpr std::array kSeparators = {'-', ':', ':', '\0'};
  for (; part < parts.size(); ++part) {
    const std::size_t end = std::min(text.find(kSeparators[part]), text.size());
    const std::string_view digits = text.substr(0, end);
    if (!is_digits(digits) || digits.size() > 6 || (part >= 2 && digits.size() != 2)) {
      return std::nullopt;
    }
    parts[part] = parse_number(digits).value_or(0.0);
    if (part >= 2 && parts[part] >= 60.0) return std::nullopt;
    const bool is_last = part + 1 == parts.size();
    if (is_last != (end == text.size())) return std::nullopt;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts[0] * 86400.0 + parts[1] * 3600.0 + parts[2] * 60.0 + parts[3];
}

}  // namespace

bool is_digits(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (!is_digits(text) || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) {
    return std::nullopt;
  }
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  // For too large and too small numbers, from_chars returns the same error. strtod returns infinity
  // for too large numbers, and 0 or a subnormal number for too small ones.
  if (error == std::errc::result_out_of_range)
    return std::strtod(std::string(text).c_str(), nullptr);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<double> parse_duration(std::string_view text) {
  if (text.find(':') != std::string_view::npos) return parse_clock(text);
  return parse_with_unit(text, kDurationUnits);
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  if (is_digits(text)) return parse_integer(text);
  const std::optional<double> bytes = parse_with_unit(text, kByteUnits);
  if (!bytes || *bytes >= 0x1p62) return std::nullopt;
  return std::llround(*bytes);
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == '\x7F';
  });
}

bool is_yaml_word(std::string_view text) {
  constexpr std::array<std::string_view, 10> kWords = {"y",   "n",    "yes",   "no",   "on",
                                                       "off", "true", "false", "null", "~"};
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kWords.begin(), kWords.end(), lower) != kWords.end();
}

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  const std::string text(buffer.data(), end);
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  // 3e-04 -> 3e-4, 1e+06 -> 1e6
  const std::size_t digits = std::min(text.find_first_not_of("+-0", e + 1), text.size() - 1);
  return text.substr(0, e + 1) + (text[e + 1] == '-' ? "-" : "") + text.substr(digits);
}

std::string duration_text(double seconds) {
  const auto with_unit = [](double value, const char* unit) {
    std::array<char, 512> buffer{};  // fixed notation, because a unit cannot follow an exponent
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                            std::chars_format::fixed);
    return std::string(buffer.data(), end) + unit;
  };
  if (seconds >= 60.0 && std::fmod(seconds, 3600.0) == 0.0) return with_unit(seconds / 3600.0, "h");
  if (seconds >= 60.0 && std::fmod(seconds, 60.0) == 0.0) return with_unit(seconds / 60.0, "min");
  return with_unit(seconds, "s");
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  std::string_view unit;
  for (const std::string_view larger : kUnits) {
    if (bytes == 0 || bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = larger;
  }
  return std::to_string(bytes) + std::string(unit);
}

std::string_view unquoted(std::string_view text) {
  const bool is_quoted =
      text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

std::string yaml_scalar(std::string_view text) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./+-:").find(c) != std::string_view::npos;
  };
  const bool starts_well =
      !text.empty() &&
      (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_' || text[0] == '/');
  const bool plain = starts_well && text.back() != ':' && !is_yaml_word(text) &&
                     std::all_of(text.begin(), text.end(), is_plain);
  return plain ? std::string(text) : yaml_quoted(text);
}

}  // namespace mgpu
