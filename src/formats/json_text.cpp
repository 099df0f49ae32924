#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

#include <nlohmann/detail/conversions/to_chars.hpp>

#include <mgpu/base/utf8.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::formats {
namespace {

constexpr std::size_t kIndent = 2;

/// Returns the length in bytes of the maximal subpart of the ill-formed sequence with which `text`
/// starts (Unicode 15.0, section 3.9).
std::size_t invalid_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.size() == 1 || at(0) < 0xC2 || at(0) > 0xF4) return 1;
  const int low = at(0) == 0xE0 ? 0xA0 : at(0) == 0xF0 ? 0x90 : 0x80;
  const int high = at(0) == 0xED ? 0x9F : at(0) == 0xF4 ? 0x8F : 0xBF;
  if (at(1) < low || at(1) > high) return 1;
  std::size_t bytes = 2;
  while (bytes < text.size() && at(bytes) >= 0x80 && at(bytes) <= 0xBF)
    ++bytes;
  return bytes;
}

/// Formats a value as text. The recursion is as deep as the value: at most 32 levels if the value
/// was parsed.
class Printer {
public:
  Printer(bool is_indented, BadUtf8 bad_utf8) : is_indented_(is_indented), bad_utf8_(bad_utf8) {}

  std::string text_of(const JsonValue& value) {
    std::visit(*this, value.held());
    return std::move(text_);
  }

  void operator()(std::nullptr_t) { text_ += "null"; }
  void operator()(bool value) { text_ += value ? "true" : "false"; }
  void operator()(std::int64_t value) { text_ += std::to_string(value); }
  void operator()(std::uint64_t value) { text_ += std::to_string(value); }

  // Formats numbers with nlohmann's library, as earlier versions of this program did, so that files
  // do not change. std::to_chars would write some numbers with other digits.
  void operator()(double value) {
    if (!std::isfinite(value)) return (*this)(nullptr);
    std::array<char, 64> digits{};
    const char* begin = digits.data();
    const char* end = nlohmann::detail::to_chars(digits.data(), begin + digits.size(), value);
    text_.append(begin, end);
  }

  void operator()(const std::string& value) {
    text_ += '"';
    for (std::string_view rest = value; !rest.empty();) {
      const std::size_t valid = std::min(find_bad_utf8(rest), rest.size());
      for (const char c : rest.substr(0, valid))
        add(c);
      rest.remove_prefix(valid);
      if (rest.empty()) break;
      if (bad_utf8_ == BadUtf8::refuse) throw JsonError("a text of a JSON value must be UTF-8");
      text_ += "\xEF\xBF\xBD";
      rest.remove_prefix(invalid_bytes(rest));
    }
    text_ += '"';
  }

  void operator()(const JsonValue::List& list) {
    add_all('[', list, ']', [&](const JsonValue& item) { std::visit(*this, item.held()); });
  }

  void operator()(const JsonValue::Members& members) {
    add_all('{', members, '}', [&](const auto& member) {
      (*this)(member.first);
      text_ += is_indented_ ? ": " : ":";
      std::visit(*this, member.second.held());
    });
  }

private:
  void add(char c) {
    static constexpr std::string_view kEscaped = "\"\\\b\t\n\f\r";
    const std::size_t index = kEscaped.find(c);
    if (index != std::string_view::npos) {
      text_ += '\\';
      text_ += "\"\\btnfr"[index];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      text_ += code;
    } else {
      text_ += c;
    }
  }

  template <class Items, class Add>
  void add_all(char open, const Items& items, char close, const Add& add_item) {
    text_ += open;
    depth_ += kIndent;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text_ += ',';
      end_line();
      add_item(items[i]);
    }
    depth_ -= kIndent;
    if (!items.empty()) end_line();
    text_ += close;
  }

  void end_line() {
    if (is_indented_) text_.append("\n").append(depth_, ' ');
  }

  bool is_indented_;
  BadUtf8 bad_utf8_;
  std::size_t depth_ = 0;  // spaces before a line
  std::string text_;
};

}  // namespace

std::string to_json(const JsonValue& value, BadUtf8 bad_utf8) {
  return Printer(true, bad_utf8).text_of(value) + "\n";
}

std::string to_json_line(const JsonValue& value, BadUtf8 bad_utf8) {
  return Printer(false, bad_utf8).text_of(value);
}

}  // namespace mgpu::formats
