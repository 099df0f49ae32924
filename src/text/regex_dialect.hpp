#pragma once

#include <string>
#include <string_view>

namespace mgpu::text {

/// Translates a regular expression of a tokenizer file, so that PCRE2 matches the same text as the
/// tokenizers library. PCRE2 may have an older Unicode version than this library, so character
/// classes get the members that PCRE2 lacks.
/// Errors: std::invalid_argument for a construct that has another meaning in PCRE2 or is not
///         supported, such as nested and intersected sets, named groups, \w, \b, \h
/// Source: Oniguruma 6.9 doc/RE (Ruby syntax), pcre2pattern(3)
std::string to_pcre2(std::string_view expression);

}  // namespace mgpu::text
