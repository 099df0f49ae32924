#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgpu {

/// Returns the offset of the first byte that is not part of valid UTF-8; npos if all bytes are
/// valid. Overlong forms, surrogates and values above U+10FFFF are not valid.
/// Source: Unicode 15.0, table 3-7.
std::size_t find_bad_utf8(std::string_view text);

/// Returns the number of characters (code points) of `text`, which must be valid UTF-8.
std::size_t utf8_length(std::string_view text);

/// Returns the byte offset of character `index` (from 0) of `text`, which must be valid UTF-8;
/// text.size() if there are fewer characters.
std::size_t utf8_offset(std::string_view text, std::size_t index);

/// Returns `text` as valid UTF-8 without NUL, which C interfaces take for the end of a text. Each
/// NUL and each invalid byte becomes U+FFFD.
std::string storable(std::string_view text);

/// Returns `text` as one harmless line. Tabs become spaces. Each control character, line separator,
/// bidirectional mark and byte that is not valid UTF-8 becomes U+FFFD.
std::string printable(std::string_view text);

}  // namespace mgpu
