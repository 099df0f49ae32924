#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgpu {

/// Offset of the first byte that is not part of a UTF-8 character; npos when all of it is.
/// Overlong forms, surrogates and values above U+10FFFF do not count as characters.
/// Source: Unicode 15.0, table 3-7.
std::size_t find_bad_utf8(std::string_view text);

/// Number of characters (code points).
/// Shapes: text is valid UTF-8
std::size_t utf8_length(std::string_view text);

/// Byte offset of character number `index` (from 0), or the size when there are fewer.
/// Shapes: text is valid UTF-8
std::size_t utf8_offset(std::string_view text, std::size_t index);

/// The text as valid UTF-8 without NUL, which C interfaces take for its end: each byte that
/// breaks this becomes U+FFFD.
std::string storable(std::string_view text);

/// The text as one harmless line: tabs become spaces, and control characters and bidirectional
/// marks U+FFFD, one character for one. Bytes that are not UTF-8 become U+FFFD, too.
std::string printable(std::string_view text);

}  // namespace mgpu
