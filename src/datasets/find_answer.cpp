// Finds the answer in the text of a completion.
#include <utility>
#include <vector>

#include <mgpu/datasets/answers.hpp>
#include <mgpu/datasets/exact_number.hpp>

#include "characters.hpp"

namespace mgpu::datasets {
namespace {

constexpr std::string_view kBox = "\\boxed";
constexpr std::string_view kMark = "####";

/// Returns whether the brace at `at` opens the argument of \boxed.
bool opens_box(std::string_view text, std::size_t at) {
  std::string_view before = text.substr(0, at);
  while (before.ends_with(' '))
    before.remove_suffix(1);
  return before.ends_with(kBox);
}

/// Returns the content of the closed \boxed{...} that begins last.
std::optional<std::string> last_box(std::string_view text) {
  std::vector<std::size_t> open;
  std::optional<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && !is_letter(text[i + 1])) {
      ++i;  // \{ and \} open and close nothing
      continue;
    }
    if (text[i] == '{') open.push_back(i + 1);
    if (text[i] != '}' || open.empty()) continue;
    const std::size_t begin = open.back();
    open.pop_back();
    if (opens_box(text, begin - 1) && (!found || begin > found->first)) found = {begin, i};
  }
  if (!found) return std::nullopt;
  return std::string(text.substr(found->first, found->second - found->first));
}

/// Returns the text after the last `####` on its line; nullopt if there is no `####`, or if only
/// blanks follow it on its line.
std::optional<std::string> after_mark(std::string_view text) {
  const std::size_t mark = text.rfind(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(mark + kMark.size());
  line = line.substr(0, line.find_first_of("\r\n"));
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  return std::string(line.substr(begin, line.find_last_not_of(" \t") + 1 - begin));
}

/// Returns whether a number can begin after the character `before`. For example, the digits in x2,
/// x^2 and x_2 are not numbers.
bool can_precede(char before) {
  return !is_letter(before) && !is_digit(before) && before != '^' && before != '_' &&
         before != '.' && before != '\\';
}

/// Returns the length of the number that begins at `at`; 0 if no number begins there. A sign
/// belongs to the number unless an operand is directly before the sign: 3-2 ends in 2, and 3 - 2
/// ends in -2.
std::size_t length_of_number(std::string_view text, std::size_t at) {
  const char before = at == 0 ? ' ' : text[at - 1];
  const char c = text[at];
  if (c != '\\' && c != '.' && c != '-' && c != '+' && !is_digit(c)) return 0;
  if (!can_precede(before) || ((c == '-' || c == '+') && (before == ')' || before == '}')))
    return 0;
  const std::optional<NumberAtStart> number = read_number(text.substr(at));
  return number ? number->length : 0;
}

std::optional<std::string> last_number(std::string_view text) {
  std::string_view found;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = length_of_number(text, i);
    if (length > 0) found = text.substr(i, length);
    i += length > 0 ? length : 1;
  }
  if (found.empty()) return std::nullopt;
  return std::string(found);
}

/// Returns the position of the first dollar sign at `from` or later that is not escaped; npos if no
/// such sign follows.
std::size_t next_dollar(std::string_view text, std::size_t from) {
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '$') {
      return i;
    }
  }
  return std::string_view::npos;
}

/// Returns whether the dollar signs at `begin` and `end` enclose a formula, rather than stand for a
/// currency. A formula is not empty, and does not begin or end with a blank. No digit follows the
/// second dollar sign.
bool encloses_formula(std::string_view text, std::size_t begin, std::size_t end) {
  if (end == begin + 1) return false;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  const bool is_followed = end + 1 < text.size() && is_digit(text[end + 1]);
  return !is_blank(text[begin + 1]) && !is_blank(text[end - 1]) && !is_followed;
}

/// Returns the last formula $...$ that consists of one number. The result is the plain_answer() of
/// the number, without the dollar signs.
std::optional<std::string> last_formula_number(std::string_view text) {
  std::optional<std::string> found;
  std::size_t begin = next_dollar(text, 0);
  while (begin != std::string_view::npos) {
    const std::size_t end = next_dollar(text, begin + 1);
    if (end == std::string_view::npos) break;
    if (encloses_formula(text, begin, end)) {
      const std::string plain = plain_answer(text.substr(begin + 1, end - begin - 1));
      const std::optional<NumberAtStart> number = read_number(plain);
      if (number && number->length == plain.size()) found = plain;
    }
    begin = end;
  }
  return found;
}

}  // namespace

std::optional<std::string> find_answer(std::string_view completion) {
  if (std::optional<std::string> box = last_box(completion)) return box;
  if (std::optional<std::string> marked = after_mark(completion)) return marked;
  if (std::optional<std::string> formula = last_formula_number(completion)) return formula;
  return last_number(plain_answer(completion));
}

std::string stated_answer(std::string_view solution) {
  if (std::optional<std::string> box = last_box(solution)) return *box;
  return after_mark(solution).value_or(std::string(solution));
}

}  // namespace mgpu::datasets
