#pragma once

#include <string>
#include <string_view>

namespace mgpu::text {

/// Translates a regular expression of tokenizer files for PCRE2 so that both match the same text:
/// character classes get the members that PCRE2's older Unicode lacks.
/// Errors: std::invalid_argument that names a construct with another meaning in PCRE2 or unknown
///         here: nested and intersected sets, named groups, \w, \b, \h, ...
/// Source: Oniguruma 6.9 doc/RE (Ruby syntax), pcre2pattern(3)
std::string to_pcre2(std::string_view expression);

}  // namespace mgpu::text
