// Removes LaTeX commands and signs that do not change the meaning of an answer.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <mgpu/datasets/answers.hpp>

#include "characters.hpp"

namespace mgpu::datasets {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

/// LaTeX commands without their backslash, each with the text that replaces it.
constexpr auto kCommands = std::to_array<Replacement>({
    {"dfrac", "\\frac"}, {"tfrac", "\\frac"}, {"cfrac", "\\frac"},
    {"left", ""},        {"right", ""},       {"displaystyle", ""},
    {"quad", " "},       {"qquad", " "},      {"circ", "°"},
    {"degree", "°"},     {"!", ""},           {";", " "},
    {":", " "},          {" ", " "},          {"\\", " "},
    {"$", ""},           {"%", "%"},          {"(", ""},
    {")", ""},           {"[", ""},           {"]", ""},
    {"#", "#"},          {"&", "&"},          {"lbrace", "\\{"},
    {"rbrace", "\\}"},   {"ne", "\\neq"},     {"le", "\\leq"},
    {"ge", "\\geq"},
});

/// LaTeX commands that become a blank, but whose argument stays: 3\text{m} becomes 3 m.
constexpr auto kTextCommands =
    std::to_array<std::string_view>({"text", "textbf", "textit", "textrm", "mathrm", "mathbf",
                                     "mathit", "mbox", "operatorname", "boxed", "fbox"});

/// Other texts that are replaced. The first is the thousands separator of LaTeX.
constexpr auto kTexts = std::to_array<Replacement>({
    {"{,}", ","},
    {"$", ""},
    {"€", ""},
    {"£", ""},
    {"¥", ""},
    {"−", "-"},
    {"–", "-"},
    {"~", " "},
    {"\t", " "},
    {"\n", " "},
    {"\r", " "},
    {"\u00a0", " "},
    {"\u202f", " "},
});

/// Applies the replacements of kCommands, kTextCommands and kTexts to a text, in one pass.
class LatexRemover {
public:
  explicit LatexRemover(std::string_view text) : text_(text) {}

  std::string plain() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        copy_command();
      } else if (!replace_text()) {
        copy_character();
      }
    }
    return std::move(plain_);
  }

private:
  std::string_view command() const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_letter(text_[end]))
      ++end;
    return text_.substr(at_ + 1, end == at_ + 1 ? 1 : end - at_ - 1);
  }

  void copy_command() {
    const std::string_view name = command();
    at_ += 1 + name.size();
    for (const std::string_view known : kTextCommands)
      if (name == known) return begin_text();
    if (name == ",") return copy_thin_space();
    for (const auto& [known, replacement] : kCommands) {
      if (name != known) continue;
      plain_ += replacement;
      return;
    }
    plain_.append("\\").append(name);
  }

  /// Writes a blank for a command such as \text. Drops the brace that follows the command, and
  /// later the brace that closes it.
  void begin_text() {
    plain_ += ' ';
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
    if (at_ == text_.size() || text_[at_] != '{') return;
    ++at_;
    is_dropped_.push_back(true);
  }

  /// Writes a blank for a thin space, but nothing between a digit and a group of three digits.
  void copy_thin_space() {
    std::size_t end = at_;
    while (end < text_.size() && is_digit(text_[end]))
      ++end;
    const bool separates = end - at_ == 3 && !plain_.empty() && is_digit(plain_.back());
    if (!separates) plain_ += ' ';
  }

  bool replace_text() {
    for (const auto& [known, replacement] : kTexts) {
      if (!text_.substr(at_).starts_with(known)) continue;
      plain_ += replacement;
      at_ += known.size();
      return true;
    }
    return false;
  }

  void copy_character() {
    const char c = text_[at_++];
    bool drops = false;
    if (c == '{') is_dropped_.push_back(false);
    if (c == '}' && !is_dropped_.empty()) {
      drops = is_dropped_.back();
      is_dropped_.pop_back();
    }
    if (!drops) plain_ += c;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string plain_{};
  std::vector<bool> is_dropped_{};  // for each open brace: whether it was dropped
};

std::string without_degrees(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t skipped = 0;
    for (const std::string_view degrees : {"^{°}", "^°", "°"})
      if (skipped == 0 && text.substr(i).starts_with(degrees)) skipped = degrees.size();
    if (skipped == 0) plain += text[i];
    i += std::max<std::size_t>(skipped, 1);
  }
  return plain;
}

std::string_view trimmed(std::string_view text, std::string_view begin, std::string_view end) {
  const std::size_t first = text.find_first_not_of(begin);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(end) + 1 - first);
}

/// Returns the part after the first `=` if only a name such as x or f(x) is before the `=`.
/// Otherwise returns the whole text.
std::string_view without_name(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || !is_letter(text[0])) return text;
  for (const char c : text.substr(0, equals))
    if (!is_letter(c) && std::string_view(" _()").find(c) == std::string_view::npos) return text;
  return trimmed(text.substr(equals + 1), " ", " ");
}

}  // namespace

std::string plain_answer(std::string_view answer) {
  const std::string text = without_degrees(LatexRemover(answer).plain());
  return std::string(without_name(trimmed(text, " *", " *.,;:!")));
}

}  // namespace mgpu::datasets
