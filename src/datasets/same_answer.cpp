// Decides whether two answers are equal.
#include <algorithm>
#include <array>
#include <vector>

#include <mgpu/datasets/answers.hpp>
#include <mgpu/datasets/exact_number.hpp>

#include "characters.hpp"

namespace mgpu::datasets {
namespace {

/// Words that can follow a number but are not units, because they change the meaning of the answer.
constexpr auto kNoUnits = std::to_array<std::string_view>(
    {"and", "or", "pi", "hundred", "thousand", "million", "billion", "trillion", "dozen", "to"});
constexpr std::string_view kShortUnits = "mgshlLKCFJNWVA";

bool is_word_byte(char c) {
  return is_letter(c) || static_cast<unsigned char>(c) >= 0x80;
}

bool is_unit_word(std::string_view word, bool follows_blank) {
  if (std::ranges::find(kNoUnits, word) != kNoUnits.end()) return false;
  return word.size() > 1 || (follows_blank && kShortUnits.find(word[0]) != std::string_view::npos);
}

/// Returns the length of ^2, ^{2}, ^3 or ^{3} at the start of `text`; 0 if `text` starts with none
/// of these powers.
std::size_t power_of_unit(std::string_view text) {
  for (const std::string_view power : {"^2", "^3", "^{2}", "^{3}"})
    if (text.starts_with(power)) return power.size();
  return 0;
}

/// Returns whether the text after a number is empty or a unit. A unit may contain:
/// - spaces, and the signs `/`, `.`, `-` and `'`
/// - words of two or more bytes that are not in kNoUnits
/// - words of one byte that are in kShortUnits and follow a space or `/`
/// - a power such as ^2 after a word
bool is_unit(std::string_view text) {
  bool follows_blank = false;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_word_byte(text[end]))
      ++end;
    if (end > i && !is_unit_word(text.substr(i, end - i), follows_blank)) return false;
    const bool is_sign =
        end == i && std::string_view(" /.-'").find(text[i]) != std::string_view::npos;
    const std::size_t power = end > i ? power_of_unit(text.substr(end)) : 0;
    if (end == i && !is_sign) return false;
    follows_blank = end == i && (text[i] == ' ' || text[i] == '/');
    i = is_sign ? i + 1 : end + power;
  }
  return true;
}

std::optional<ExactNumber> number_of(std::string_view plain) {
  while (plain.size() > 1 && plain.front() == '{' && plain.back() == '}')
    plain = plain.substr(1, plain.size() - 2);
  const std::optional<NumberAtStart> found = read_number(plain);
  if (!found || !is_unit(plain.substr(found->length))) return std::nullopt;
  return found->number;
}

/// Returns a text for comparison: lower case, without blanks, and without braces around one
/// character after ^ or _. If the text is a single letter in parentheses, returns only the letter.
std::string bare_text(std::string_view plain) {
  std::string text;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const bool is_raised = !text.empty() && (text.back() == '^' || text.back() == '_');
    if (plain[i] == ' ') continue;
    if (is_raised && plain[i] == '{' && i + 2 < plain.size() && plain[i + 2] == '}') {
      text += plain[i + 1];
      i += 2;
      continue;
    }
    const bool is_upper = plain[i] >= 'A' && plain[i] <= 'Z';
    text += is_upper ? static_cast<char>(plain[i] - 'A' + 'a') : plain[i];
  }
  if (text.size() == 3 && text[0] == '(' && is_letter(text[1]) && text[2] == ')') return {text[1]};
  return text;
}

/// A list such as `(1, 2)` or `1, 2`.
struct AnswerList {
  std::string brackets{};  // "()", "[)", "" and so on
  std::vector<std::string_view> items{};
};

AnswerList list_of(std::string_view plain) {
  AnswerList list;
  constexpr std::string_view kOpen = "([";
  constexpr std::string_view kClose = ")]";
  if (plain.size() > 1 && kOpen.find(plain.front()) != std::string_view::npos &&
      kClose.find(plain.back()) != std::string_view::npos) {
    list.brackets = {plain.front(), plain.back()};
    plain = plain.substr(1, plain.size() - 2);
  }
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (std::string_view("([{").find(plain[i]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(plain[i]) != std::string_view::npos) --depth;
    if (plain[i] != ',' || depth > 0) continue;
    list.items.push_back(plain.substr(begin, i - begin));
    begin = i + 1;
  }
  list.items.push_back(plain.substr(begin));
  return list;
}

std::string_view without_blanks_around(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

bool same_item(std::string_view given, std::string_view expected) {
  const std::optional<ExactNumber> a = number_of(without_blanks_around(given));
  const std::optional<ExactNumber> b = number_of(without_blanks_around(expected));
  if (a && b) return same_number(*a, *b);
  return bare_text(given) == bare_text(expected);
}

}  // namespace

bool same_answer(std::string_view given, std::string_view expected) {
  const std::string a = plain_answer(given);
  const std::string b = plain_answer(expected);
  if (a.empty() || b.empty()) return false;
  if (same_item(a, b)) return true;
  const AnswerList first = list_of(a);
  const AnswerList second = list_of(b);
  return first.items.size() > 1 && first.brackets == second.brackets &&
         std::ranges::equal(first.items, second.items, same_item);
}

bool is_right(std::string_view completion, std::string_view expected) {
  const std::optional<std::string> given = find_answer(completion);
  return given && same_answer(*given, stated_answer(expected));
}

}  // namespace mgpu::datasets
