#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace mgpu::text {

/// First and last of a run of characters.
struct CodeRange {
  char32_t first, last;
};

/// Every step-th character from first to last moves by shift to its lower case.
struct LowerRun {
  char32_t first, last;
  std::int32_t step, shift;
};

/// A character whose lower case has two characters.
struct LowerSpecial {
  char32_t from, to_first, to_second;
};

/// A class of regular expressions, such as \p{L}, as the tokenizers library has it.
struct RegexClass {
  std::string_view name;
  bool complete;             // `members` are all of them, else what PCRE2's own class lacks
  std::uint32_t count;       // members in all, for the test
  std::string_view members;  // as written inside [...]
};

/// Bytes of the character that begins with `first`, in valid UTF-8.
constexpr std::size_t character_bytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The character at `offset`. Shapes: text is valid UTF-8, offset at the start of a character
char32_t character_at(std::string_view text, std::size_t offset);

/// Offset of the character that ends before `offset` > 0.
std::size_t previous_character(std::string_view text, std::size_t offset);

void append_character(std::string& text, char32_t character);

/// Whether sorted `ranges` have the character.
bool contains(std::span<const CodeRange> ranges, char32_t character);

/// Source: what each part of tokenizers 0.23.3 answers, unicode_tables.hpp
bool is_whitespace(char32_t character);
bool is_digit(char32_t character);
bool is_punctuation(char32_t character);
bool is_word(char32_t character);

/// Appends the character's lower case, whatever stands around it.
void append_lower(std::string& text, char32_t character);

}  // namespace mgpu::text
