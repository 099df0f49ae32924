#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mgpu::text {

/// A range of consecutive characters, from `first` to `last`, both included.
struct CodeRange {
  char32_t first, last;
};

/// Characters that have a lower case: `first`, `first + step`, and so on, up to `last`. The lower
/// case of a character is the character plus `shift`, which may be negative.
struct LowerRun {
  char32_t first, last;
  std::int32_t step, shift;
};

/// A character `from` whose lower case is two characters.
struct LowerSpecial {
  char32_t from, to_first, to_second;
};

/// A character class of regular expressions, such as \p{L}, as the tokenizers library defines it.
struct RegexClass {
  std::string_view name;
  bool complete;             // true: `members` is the whole class; false: what PCRE2 lacks
  std::uint32_t count;       // number of all members of the class, which a test checks
  std::string_view members;  // as in a bracket expression [...] of a regular expression
};

/// Returns the number of bytes of the UTF-8 character whose first byte is `first`.
constexpr std::size_t character_bytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Returns the character at `offset`. `text` must be valid UTF-8, and a character must start at
/// `offset`.
char32_t character_at(std::string_view text, std::size_t offset);

/// Returns the offset of the character before `offset` > 0. `text` must be valid UTF-8.
std::size_t previous_character(std::string_view text, std::size_t offset);

void append_character(std::string& text, char32_t character);

/// Returns whether one of the sorted `ranges` contains the character.
bool contains(std::span<const CodeRange> ranges, char32_t character);

/// Each of these functions returns whether a character belongs to a class. The classes have the
/// same members as the classes that the tokenizers library uses for the same purpose.
/// Source: tokenizers 0.23.3, see unicode_tables.hpp
bool is_whitespace(char32_t character);
bool is_digit(char32_t character);
bool is_punctuation(char32_t character);
bool is_word(char32_t character);

/// Appends the lower case of a character to `text`, regardless of the neighbors of the character.
void append_lower(std::string& text, char32_t character);

}  // namespace mgpu::text
