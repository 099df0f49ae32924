#include "code_points.hpp"

#include <algorithm>

#include "unicode_tables.hpp"

namespace mgpu::text {
namespace {

constexpr char32_t kAscii = 0x80;

/// Returns the result of contains(). For an ASCII character, the result is in a table.
template <std::size_t N>
bool contains_quickly(const std::array<CodeRange, N>& ranges, char32_t character) {
  static const std::array<bool, kAscii> kKnown = [&] {
    std::array<bool, kAscii> known{};
    for (char32_t c = 0; c < kAscii; ++c)
      known[c] = contains(ranges, c);
    return known;
  }();
  return character < kAscii ? kKnown[character] : contains(ranges, character);
}

}  // namespace

char32_t character_at(std::string_view text, std::size_t offset) {
  const auto bits = [&](std::size_t i, unsigned mask) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[offset + i]) & mask);
  };
  switch (character_bytes(text[offset])) {
    case 1:
      return bits(0, 0x7F);
    case 2:
      return bits(0, 0x1F) << 6 | bits(1, 0x3F);
    case 3:
      return bits(0, 0x0F) << 12 | bits(1, 0x3F) << 6 | bits(2, 0x3F);
    default:
      return bits(0, 0x07) << 18 | bits(1, 0x3F) << 12 | bits(2, 0x3F) << 6 | bits(3, 0x3F);
  }
}

std::size_t previous_character(std::string_view text, std::size_t offset) {
  do
    --offset;
  while (offset > 0 && (static_cast<unsigned char>(text[offset]) & 0xC0U) == 0x80U);
  return offset;
}

void append_character(std::string& text, char32_t character) {
  const auto put = [&](char32_t bits) { text += static_cast<char>(bits); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0 | character >> 6);
    put(0x80 | (character & 0x3F));
  } else if (character < 0x10000) {
    put(0xE0 | character >> 12);
    put(0x80 | (character >> 6 & 0x3F));
    put(0x80 | (character & 0x3F));
  } else {
    put(0xF0 | character >> 18);
    put(0x80 | (character >> 12 & 0x3F));
    put(0x80 | (character >> 6 & 0x3F));
    put(0x80 | (character & 0x3F));
  }
}

bool contains(std::span<const CodeRange> ranges, char32_t character) {
  const auto next_range =
      std::upper_bound(ranges.begin(), ranges.end(), character,
                       [](char32_t c, const CodeRange& range) { return c < range.first; });
  return next_range != ranges.begin() && character <= std::prev(next_range)->last;
}

bool is_whitespace(char32_t character) {
  return contains_quickly(kWhitespace, character);
}

bool is_digit(char32_t character) {
  return contains_quickly(kDigits, character);
}

bool is_punctuation(char32_t character) {
  return contains_quickly(kPunctuation, character);
}

bool is_word(char32_t character) {
  return contains_quickly(kWord, character);
}

void append_lower(std::string& text, char32_t character) {
  for (const LowerSpecial& special : kLowerSpecial) {
    if (special.from != character) continue;
    append_character(text, special.to_first);
    append_character(text, special.to_second);
    return;
  }
  const auto next_run =
      std::upper_bound(kLowerRuns.begin(), kLowerRuns.end(), character,
                       [](char32_t c, const LowerRun& run) { return c < run.first; });
  if (next_run != kLowerRuns.begin()) {
    const LowerRun& run = *std::prev(next_run);
    const auto distance = static_cast<std::int32_t>(character - run.first);
    if (character <= run.last && distance % run.step == 0)
      character = static_cast<char32_t>(static_cast<std::int32_t>(character) + run.shift);
  }
  append_character(text, character);
}

}  // namespace mgpu::text
