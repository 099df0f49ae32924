#pragma once

#include <string_view>

namespace mgpu {

/// Returns whether each character of `text` is an ASCII letter, an ASCII digit or an element of
/// `others`. The locale has no effect.
constexpr bool has_only_alphanumeric_or(std::string_view others, std::string_view text) {
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_letter && !is_digit && others.find(c) == std::string_view::npos) return false;
  }
  return true;
}

}  // namespace mgpu
