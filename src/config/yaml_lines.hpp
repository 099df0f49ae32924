#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <mgpu/config/config_problem.hpp>

namespace mgpu {

/// The lines of a text without their ends; "\r\n" ends a line as "\n" does.
std::vector<std::string_view> split_lines(std::string_view text);

/// Mistakes that yaml-cpp accepts or reports far from their cause, found line by line: tabs as
/// indentation and quotes that stay open. `lines` are repaired in place, so that the reader
/// behind finds the other mistakes.
std::vector<Problem> repair_lines(std::vector<std::string>& lines, const std::string& origin);

/// Mistakes for which the text cannot be read at all: its size, its encoding. Empty when fine.
std::vector<Problem> check_encoding(std::string_view text, const std::string& origin);

}  // namespace mgpu
