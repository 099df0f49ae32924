#pragma once

#include <string>
#include <string_view>

namespace mgpu::store {

/// `text` as valid UTF-8 without NUL: each byte that breaks this becomes U+FFFD.
/// Source: RFC 3629, section 4 (no overlong forms, no surrogates, at most U+10FFFF).
std::string as_stored_text(std::string_view text);

}  // namespace mgpu::store
