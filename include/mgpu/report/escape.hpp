#pragma once

#include <string>
#include <string_view>

namespace mgpu::report {

/// One line that cannot move a cursor or forge a line: control bytes (C0, DEL, C1), backslash
/// newlines and bytes that are not UTF-8 become \n, \t or \xNN.
std::string escape_log(std::string_view text);

/// Text for an element or a quoted attribute of HTML and XML; control characters, which XML
/// forbids, become U+FFFD, and so do bytes that are not UTF-8.
std::string escape_html(std::string_view text);

}  // namespace mgpu::report
