#pragma once

#include <string>
#include <string_view>

namespace mgpu::report {

/// Escapes a text so that it stays on one line and cannot control the terminal. Control characters
/// (C0, DEL, C1), bidirectional controls (U+202A to U+202E, U+2066 to U+2069) and bytes that are
/// not UTF-8 become \n, \t or \xNN.
std::string escape_log(std::string_view text);

/// Escapes a text for an element or a quoted attribute of HTML and XML. Tabs and line feeds stay.
/// Other control characters, such as carriage returns, bidirectional controls and bytes that are
/// not UTF-8 become U+FFFD.
std::string escape_html(std::string_view text);

}  // namespace mgpu::report
