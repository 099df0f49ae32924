#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <mgpu/config/config_problem.hpp>

namespace mgpu {

/// Returns the lines of a text without their ends, which are "\n" or "\r\n".
std::vector<std::string_view> split_lines(std::string_view text);

/// Returns the mistakes that yaml-cpp accepts or reports far from their cause: tabs as indentation,
/// unclosed quotes, and directives. Repairs `lines` in place, so that yaml-cpp can find the other
/// mistakes.
std::vector<Problem> repair_lines(std::vector<std::string>& lines, const std::string& origin);

/// Returns the mistakes in size or encoding that make the text unreadable. The list is empty if the
/// text is readable.
std::vector<Problem> check_encoding(std::string_view text, const std::string& origin);

}  // namespace mgpu
