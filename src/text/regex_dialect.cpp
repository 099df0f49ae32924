#include "regex_dialect.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

#include "regex_classes.hpp"
#include "unicode_tables.hpp"

namespace mgpu::text {
namespace {

[[noreturn]] void refuse(std::string_view what) {
  throw std::invalid_argument("`" + std::string(what) + "` in a regular expression");
}

bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

/// Copies a regular expression from left to right, and rewrites the parts that have another meaning
/// in PCRE2 than in the tokenizers library.
class Translator {
public:
  explicit Translator(std::string_view expression) : rest_(expression) {}

  std::string run() {
    while (!rest_.empty()) {
      if (rest_[0] == '\\') {
        escape();
      } else if (in_set_) {
        set_member();
      } else {
        outside();
      }
    }
    if (in_set_) refuse("[ without ]");
    return std::move(out_);
  }

private:
  void copy(std::size_t bytes) {
    out_ += rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }

  void outside() {
    switch (rest_[0]) {
      case '[':
        in_set_ = true;
        copy(rest_.starts_with("[^") ? 2 : 1);
        if (rest_.starts_with("]")) refuse("[]");
        return;
      case '(':
        group();
        return;
      case '{':
        interval();
        return;
      default:
        copy(1);
    }
  }

  void set_member() {
    if (rest_.starts_with("&&")) refuse("&&");
    if (rest_[0] == '[') refuse("[ within [...]");
    if (rest_[0] == ']') in_set_ = false;
    copy(1);
  }

  void group() {
    if (rest_.starts_with("(*")) refuse("(*");
    if (!rest_.starts_with("(?")) return copy(1);
    constexpr std::array<std::string_view, 8> kKnown = {"(?:",  "(?=",  "(?!",  "(?>",
                                                        "(?<=", "(?<!", "(?i:", "(?-i:"};
    for (const std::string_view start : kKnown)
      if (rest_.starts_with(start)) return copy(start.size());
    refuse(rest_.substr(0, 3));
  }

  /// Copies the intervals {n}, {n,} and {n,m}. Refuses any other {...}, and refuses an interval
  /// before `+`, because {n}+ is a possessive interval in PCRE2, but not in Ruby's syntax.
  void interval() {
    const std::size_t end = rest_.find('}');
    const std::string_view inner = rest_.substr(1, end == rest_.npos ? 0 : end - 1);
    const bool counts = !inner.empty() && inner[0] != ',' && inner.find(',') == inner.rfind(',') &&
                        inner.find_first_not_of("0123456789,") == inner.npos;
    if (!counts) refuse("{");
    if (rest_.substr(end).starts_with("}+")) refuse(rest_.substr(0, end + 2));
    copy(end + 1);
  }

  void escape() {
    if (rest_.size() < 2) refuse("\\");
    switch (const char kind = rest_[1]; kind) {
      case 'p':
      case 'P':
        return property();
      case 's':
      case 'd':
        return character_class(rest_.substr(0, 2), 2, false);
      case 'S':
      case 'D':
        return character_class(kind == 'S' ? "\\s" : "\\d", 2, true);
      case 'x':
      case 'u':
        return code();
      default:
        if (std::isalnum(static_cast<unsigned char>(kind)) != 0) {
          const bool known = std::string_view("nrtf").find(kind) != std::string_view::npos ||
                             (!in_set_ && (kind == 'A' || kind == 'z'));
          if (!known) refuse(rest_.substr(0, 2));
        }
        copy(2);
    }
  }

  /// Translates the classes \p{Name}, \P{Name}, \p{^Name} and \pN.
  void property() {
    const std::size_t end = rest_.size() > 2 && rest_[2] == '{' ? rest_.find('}') : 2;
    if (end >= rest_.size()) refuse(rest_);
    std::string_view name = end == 2 ? rest_.substr(2, 1) : rest_.substr(3, end - 3);
    bool negated = rest_[1] == 'P';
    if (name.starts_with("^")) {
      negated = !negated;
      name.remove_prefix(1);
    }
    character_class("\\p{" + std::string(name) + "}", end + 1, negated);
  }

  /// Writes the class `name`, or its complement if `negated`, in place of the next `bytes` bytes of
  /// the expression.
  void character_class(std::string_view name, std::size_t bytes, bool negated) {
    const auto row = std::find_if(kRegexClasses.begin(), kRegexClasses.end(),
                                  [&](const RegexClass& known) { return known.name == name; });
    if (row == kRegexClasses.end()) refuse(name);
    if (in_set_ && negated) {
      if (row->complete || !row->members.empty()) return negated_member(*row, bytes);
      copy(bytes);
      return;
    }
    const std::string members =
        (row->complete ? "" : std::string(row->name)) + std::string(row->members);
    out_ += in_set_ ? members : (negated ? "[^" : "[") + members + "]";
    rest_.remove_prefix(bytes);
  }

  /// Writes the complement of a class within [...] as ranges of characters. Refuses all classes
  /// except white space, whose complement has few ranges.
  void negated_member(const RegexClass& row, std::size_t bytes) {
    if (row.name != "\\s") refuse(std::string(rest_.substr(0, bytes)) + " within [...]");
    char32_t next = 0;
    std::string gaps;
    const auto add = [&](char32_t first, char32_t last) {
      if (first > last) return;
      append_character(gaps += first == '\\' || first == ']' ? "\\" : "", first);
      append_character(gaps += "-", last);
    };
    for (const CodeRange& range : kWhitespace) {
      if (range.first > 0) add(next, range.first - 1);
      next = range.last + 1;
    }
    add(next, 0xD7FF);
    add(0xE000, 0x10FFFF);
    out_ += gaps;
    rest_.remove_prefix(bytes);
  }

  /// Translates \xHH, \x{H...} and \uHHHH to the form \x{H...} of PCRE2.
  void code() {
    const bool braces = rest_.substr(1).starts_with("x{");
    const std::size_t first = braces ? 3 : 2;
    std::size_t end = first;
    const std::size_t most = first + (braces ? 6 : rest_[1] == 'x' ? 2 : 4);
    while (end < std::min(most, rest_.size()) && is_hex(rest_[end]))
      ++end;
    const bool whole = braces ? end > first && rest_.substr(end).starts_with("}") : end == most;
    if (!whole) refuse(rest_.substr(0, end));
    out_ += "\\x{" + std::string(rest_.substr(first, end - first)) + "}";
    rest_.remove_prefix(end + (braces ? 1 : 0));
  }

  std::string_view rest_;
  std::string out_;
  bool in_set_ = false;
};

}  // namespace

std::string to_pcre2(std::string_view expression) {
  return Translator(expression).run();
}

}  // namespace mgpu::text
