#include "lossy_utf8.hpp"

#include <algorithm>
#include <utility>

namespace mgpu::text {
namespace {

struct Prefix {
  std::size_t bytes;  // number of leading bytes that can start a character; at least 1
  bool whole;         // true: the character is complete
  bool open;          // true: more bytes could complete the character
};

/// Describes the character at the start of `text`, which is not empty.
/// Source: Unicode 15.0, table 3-7
Prefix prefix_of(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return {1, true, false};
  if (first < 0xC2 || first > 0xF4) return {1, false, false};
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  std::size_t bytes = 1;
  for (; bytes < std::min(length, text.size()); ++bytes) {
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    if (bytes == 1 && first == 0xE0) low = 0xA0;
    if (bytes == 1 && first == 0xED) high = 0x9F;
    if (bytes == 1 && first == 0xF0) low = 0x90;
    if (bytes == 1 && first == 0xF4) high = 0x8F;
    if (at(bytes) < low || at(bytes) > high) return {bytes, false, false};
  }
  return {bytes, bytes == length, bytes < length};
}

}  // namespace

std::string LossyUtf8::add(std::string_view bytes) {
  pending_ += bytes;
  std::string text;
  std::size_t begin = 0;
  while (begin < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(begin);
    const Prefix prefix = prefix_of(rest);
    if (prefix.open) break;
    text += prefix.whole ? rest.substr(0, prefix.bytes) : kReplacement;
    begin += prefix.bytes;
  }
  pending_.erase(0, begin);
  return text;
}

std::string LossyUtf8::finish() {
  const bool cut_off = !std::exchange(pending_, {}).empty();
  return cut_off ? std::string(kReplacement) : std::string();
}

}  // namespace mgpu::text
