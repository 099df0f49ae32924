// Compares our tables of Unicode with those of the tokenizers library, over all characters.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "text/code_points.hpp"
#include "text/lossy_utf8.hpp"
#include "text/normalizer.hpp"
#include "text/regex.hpp"
#include "text/regex_classes.hpp"

namespace mgpu::text {
namespace {

const std::string& all_characters() {
  static const std::string kAll = [] {
    std::string text;
    for (char32_t c = 0; c < 0x110000; ++c)
      if (c < 0xD800 || c > 0xDFFF) append_character(text, c);
    return text;
  }();
  return kAll;
}

/// Returns how many Unicode characters an expression for one character matches.
std::size_t count_matches(const std::string& expression) {
  std::vector<Section> sections;
  Regex(expression).cut(all_characters(), sections);
  std::size_t matches = 0;
  for (const Section& section : sections)
    matches += section.is_match ? 1U : 0U;
  return matches;
}

TEST(UnicodeTest, ClassesHaveAsManyMembersAsInTheOriginal) {
  for (const RegexClass& row : kRegexClasses) {
    EXPECT_EQ(count_matches(std::string(row.name)), row.count) << row.name;
  }
}

TEST(UnicodeTest, ClassesAreNegated) {
  EXPECT_EQ(count_matches(R"(\P{L})"), 0x110000U - 0x800U - 141'028U);
  EXPECT_EQ(count_matches(R"([^\p{L}])"), 0x110000U - 0x800U - 141'028U);
  EXPECT_EQ(count_matches(R"(\S)"), 0x110000U - 0x800U - 25U);
}

TEST(UnicodeTest, WhiteSpaceIsNegatedInsideASet) {
  EXPECT_EQ(count_matches(R"([^\S\n])"), 24U);  // 25, less the new line
  EXPECT_EQ(count_matches(R"([\S\n])"), 0x110000U - 0x800U - 24U);
}

/// The expected counts are from the wheel of tokenizers 0.23.3 (tests/oracle/unicode_tables.py).
TEST(UnicodeTest, TablesAnswerForEveryCharacter) {
  std::size_t spaces = 0, digits = 0, punctuation = 0, words = 0, lower = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    spaces += is_whitespace(c) ? 1U : 0U;
    digits += is_digit(c) ? 1U : 0U;
    punctuation += is_punctuation(c) ? 1U : 0U;
    words += is_word(c) ? 1U : 0U;
    std::string as_is, changed;
    append_character(as_is, c);
    append_lower(changed, c);
    lower += as_is != changed ? 1U : 0U;
  }

  EXPECT_EQ(spaces, 25U);
  EXPECT_EQ(punctuation, 726U);
  EXPECT_EQ(words, 144'667U);
  EXPECT_EQ(digits, 1'924U);
  EXPECT_EQ(lower, 1'488U);
}

TEST(UnicodeTest, NormalizationStopsAtUnicode9) {
  std::string known = "e\u0301";       // U+0301 is old
  std::string unknown = "\U00011938";  // of Unicode 13; has a decomposition

  make_unicode_normalizer("NFC")->apply(known);
  make_unicode_normalizer("NFD")->apply(unknown);

  EXPECT_EQ(known, "\u00E9");
  EXPECT_EQ(unknown, "\U00011938");
}

TEST(UnicodeTest, BytesThatComeOneByOneMakeTheSameText) {
  const std::string bytes =
      "a\xF0\x9F\x99\x82\xE4\xBD"
      "b\xFF\xC3";  // a, smile, cut off, b, bad
  LossyUtf8 at_once, one_by_one;
  std::string text;

  for (const char byte : bytes)
    text += one_by_one.add({&byte, 1});
  text += one_by_one.finish();

  std::string whole = at_once.add(bytes);
  whole += at_once.finish();
  EXPECT_EQ(whole, text);
  EXPECT_EQ(text,
            "a\U0001F642\uFFFD"
            "b\uFFFD\uFFFD");
}

}  // namespace
}  // namespace mgpu::text
