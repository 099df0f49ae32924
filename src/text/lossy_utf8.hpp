#pragma once

#include <string>
#include <string_view>

namespace mgpu::text {

/// Turns bytes that arrive in parts into valid UTF-8. The longest sequence of bytes that starts a
/// character without completing it becomes one U+FFFD. Each other invalid byte also becomes one
/// U+FFFD. If the last bytes may start a character, add() holds them back until the next call.
/// Bytes that are still held back at the end become one U+FFFD in finish().
///
/// Source: Unicode 15.0, 3.9, "substitution of maximal subparts"; equals Rust's
///         String::from_utf8_lossy
class LossyUtf8 {
public:
  static constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

  std::string add(std::string_view bytes);
  std::string finish();

private:
  std::string pending_;  // first bytes of an incomplete character
};

}  // namespace mgpu::text
