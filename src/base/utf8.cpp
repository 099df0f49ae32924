#include <algorithm>
#include <array>
#include <cstdint>

#include <mgpu/base/utf8.hpp>

namespace mgpu {
namespace {

struct Form {
  unsigned char first_min, first_max;    // range of the leading byte
  unsigned char second_min, second_max;  // range of the second byte
  std::size_t bytes;
};

constexpr std::array kForms = {Form{0x00, 0x7F, 0x00, 0x00, 1}, Form{0xC2, 0xDF, 0x80, 0xBF, 2},
                               Form{0xE0, 0xE0, 0xA0, 0xBF, 3}, Form{0xE1, 0xEC, 0x80, 0xBF, 3},
                               Form{0xED, 0xED, 0x80, 0x9F, 3}, Form{0xEE, 0xEF, 0x80, 0xBF, 3},
                               Form{0xF0, 0xF0, 0x90, 0xBF, 4}, Form{0xF1, 0xF3, 0x80, 0xBF, 4},
                               Form{0xF4, 0xF4, 0x80, 0x8F, 4}};

/// Returns how many bytes the first character of `text` has; 0 if the character is invalid.
std::size_t character_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const Form& form : kForms) {
    if (at(0) < form.first_min || at(0) > form.first_max) continue;
    if (form.bytes == 1) return 1;
    if (text.size() < form.bytes || at(1) < form.second_min || at(1) > form.second_max) return 0;
    for (std::size_t i = 2; i < form.bytes; ++i)
      if (at(i) < 0x80 || at(i) > 0xBF) return 0;
    return form.bytes;
  }
  return 0;
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Returns whether a terminal may interpret the character instead of showing it.
bool is_active(std::string_view character) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return at(0) < 0x20 || at(0) == 0x7F;
  if (character.size() == 2) return at(0) == 0xC2 && at(1) < 0xA0;  // C1 controls
  if (character.size() != 3 || at(0) != 0xE2) return false;
  if (at(1) == 0x80) {  // U+200E, U+200F, U+2028 to U+202E
    return at(2) == 0x8E || at(2) == 0x8F || (at(2) >= 0xA8 && at(2) <= 0xAE);
  }
  return at(1) == 0x81 && at(2) >= 0xA6 && at(2) <= 0xA9;  // U+2066 to U+2069
}

/// Returns the text. Invalid bytes, and characters for which `is_bad` returns true, become U+FFFD.
std::string replaced(std::string_view text, bool (*is_bad)(std::string_view)) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const std::string_view character = text.substr(0, bytes == 0 ? 1 : bytes);
    clean += bytes == 0 || is_bad(character) ? kReplacement : character;
    text.remove_prefix(character.size());
  }
  return clean;
}

}  // namespace

std::size_t find_bad_utf8(std::string_view text) {
  std::size_t offset = 0;
  while (offset < text.size()) {
    const std::size_t bytes = character_bytes(text.substr(offset));
    if (bytes == 0) return offset;
    offset += bytes;
  }
  return std::string_view::npos;
}

std::size_t utf8_length(std::string_view text) {
  std::size_t length = 0;
  for (const char c : text)
    length += is_continuation(c) ? 0U : 1U;
  return length;
}

std::size_t utf8_offset(std::string_view text, std::size_t index) {
  std::size_t offset = 0;
  for (; offset < text.size(); ++offset) {
    if (is_continuation(text[offset])) continue;
    if (index == 0) return offset;
    --index;
  }
  return offset;
}

std::string storable(std::string_view text) {
  return replaced(
      text, [](std::string_view character) { return character == std::string_view("\0", 1); });
}

std::string printable(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\t', ' ');
  return replaced(line, is_active);
}

}  // namespace mgpu
