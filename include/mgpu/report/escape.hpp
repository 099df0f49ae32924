#pragma once

#include <string>
#include <string_view>

namespace mgpu::report {

/// Escapes a text so that it stays on one line and cannot control the terminal. Control characters
/// (C0, DEL, C1), bidirectional controls (U+202A to U+202E, U+2066 to U+2069) and bytes that are
/// not UTF-8 become \n, \t or \xNN.
std::string escape_log(std::string_view text);

/// Escapes a text for an element or a quoted attribute of HTML and XML. Tabs and line feeds stay.
/// Each other control character (such as a carriage return), each bidirectional control and each
/// byte that is not UTF-8 becomes U+FFFD.
std::string escape_html(std::string_view text);

}  // namespace mgpu::report
