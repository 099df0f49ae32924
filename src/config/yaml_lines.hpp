#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <mgpu/config/config_problem.hpp>

namespace mgpu {

/// The lines of a text without their ends; "\r\n" ends a line as "\n" does.
std::vector<std::string_view> split_lines(std::string_view text);

/// Finds mistakes that yaml-cpp accepts or reports far from their cause: tabs as indentation and
/// unclosed quotes. Repairs `lines` in place, so that yaml-cpp can find the other mistakes.
std::vector<Problem> repair_lines(std::vector<std::string>& lines, const std::string& origin);

/// Finds mistakes that make the text unreadable: its size, its encoding. Returns an empty list if
/// it is fine.
std::vector<Problem> check_encoding(std::string_view text, const std::string& origin);

}  // namespace mgpu
