#pragma once

#include <string>
#include <string_view>

namespace mgpu::text {

/// A regular expression of tokenizer files, written for PCRE2 so that both match the same text:
/// character classes get the members that PCRE2's older Unicode lacks.
///
/// Errors: std::invalid_argument with a sentence that names what has another meaning in PCRE2
///         or is not known here: nested and intersected sets, named groups, \w, \b, \h, ...
/// Source: Oniguruma 6.9 doc/RE (Ruby syntax), pcre2pattern(3)
std::string to_pcre2(std::string_view expression);

}  // namespace mgpu::text
