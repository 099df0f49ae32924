#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include <mgpu/report/escape.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

/// Returns the number of bytes of the UTF-8 sequence that `text` starts with; 0 if it starts with
/// no valid sequence.
/// Source: RFC 3629, 4 (no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const auto tail = [&](std::size_t i, std::uint8_t low = 0x80, std::uint8_t high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const std::uint8_t low = lead == 0xE0 ? 0xA0 : 0x80;
    const std::uint8_t high = lead == 0xED ? 0x9F : 0xBF;
    return tail(1, low, high) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const std::uint8_t low = lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = lead == 0xF4 ? 0x8F : 0xBF;
    return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

/// Returns whether the character turns the direction of the text around it: U+202A to U+202E and
/// U+2066 to U+2069.
bool turns_text(std::string_view sequence) {
  const bool is_embedding = sequence >= "\xE2\x80\xAA" && sequence <= "\xE2\x80\xAE";
  const bool is_isolate = sequence >= "\xE2\x81\xA6" && sequence <= "\xE2\x81\xA9";
  return sequence.size() == 3 && (is_embedding || is_isolate);
}

/// Returns whether the character controls a terminal, or changes the direction of text on a page.
bool is_control(std::string_view sequence) {
  if (turns_text(sequence)) return true;
  const auto first = static_cast<std::uint8_t>(sequence[0]);
  if (sequence.size() == 1) return first < 0x20 || first == 0x7F;
  return sequence.size() == 2 && first == 0xC2 && static_cast<std::uint8_t>(sequence[1]) < 0xA0;
}

/// Calls `good(sequence)` for each character, but `bad(bytes)` for each control character and for
/// each single byte that is not UTF-8.
template <class Good, class Bad>
void walk(std::string_view text, Good good, Bad bad) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || is_control(sequence)) {
      bad(sequence);
    } else {
      good(sequence);
    }
    text.remove_prefix(sequence.size());
  }
}

}  // namespace

std::string escape_log(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto bad = [&](std::string_view bytes) {
    if (bytes == "\n") {
      out += "\\n";
    } else if (bytes == "\t") {
      out += "\\t";
    } else {
      for (const char c : bytes)
        out += text_of("\\x%02x", static_cast<unsigned>(static_cast<std::uint8_t>(c)));
    }
  };
  walk(
      text, [&](std::string_view sequence) { out += sequence; }, bad);
  return out;
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  const auto good = [&](std::string_view sequence) {
    switch (sequence[0]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += sequence;
    }
  };
  walk(text, good, [&](std::string_view bytes) {
    out += bytes == "\n" || bytes == "\t" ? std::string(bytes) : "\xEF\xBF\xBD";
  });
  return out;
}

}  // namespace mgpu::report
