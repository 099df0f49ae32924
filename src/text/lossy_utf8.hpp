#pragma once

#include <string>
#include <string_view>

namespace mgpu::text {

/// Turns bytes that arrive in parts into valid UTF-8: each maximal invalid part of a character
/// becomes one U+FFFD. The first bytes of a character are held back until the character is
/// complete.
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
