#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mgpu::text {

/// The first and last of consecutive characters.
struct CodeRange {
  char32_t first, last;
};

/// Every step-th character from first to last has its lower case at distance `shift`.
struct LowerRun {
  char32_t first, last;
  std::int32_t step, shift;
};

/// A character whose lower case has two characters.
struct LowerSpecial {
  char32_t from, to_first, to_second;
};

/// A character class of regular expressions, such as \p{L}, as the tokenizers library defines it.
struct RegexClass {
  std::string_view name;
  bool complete;             // whether `members` has all members, or those that PCRE2's class lacks
  std::uint32_t count;       // total number of members, for the test
  std::string_view members;  // in the syntax inside [...]
};

/// Returns the number of bytes of the character that begins with `first`, in valid UTF-8.
constexpr std::size_t character_bytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Returns the character at `offset`. Shapes: valid UTF-8, offset at the start of a character
char32_t character_at(std::string_view text, std::size_t offset);

/// Returns the offset of the character that ends at `offset` > 0.
std::size_t previous_character(std::string_view text, std::size_t offset);

void append_character(std::string& text, char32_t character);

/// Returns whether sorted `ranges` contain the character.
bool contains(std::span<const CodeRange> ranges, char32_t character);

/// Return whether the character belongs to a class, as each part of the tokenizers library defines
/// it.
/// Source: tokenizers 0.23.3, see unicode_tables.hpp
bool is_whitespace(char32_t character);
bool is_digit(char32_t character);
bool is_punctuation(char32_t character);
bool is_word(char32_t character);

/// Appends the character's lower case, independent of its context.
void append_lower(std::string& text, char32_t character);

}  // namespace mgpu::text
