#pragma once

#include <vector>

#include <mgpu/config/config_problem.hpp>
#include <mgpu/config/key_table.hpp>

#include "written_line.hpp"

namespace mgpu::app {

/// Checks a command line for arguments that cxxopts cannot read, or would read in another way than
/// the user means:
/// - an argument of more than 4,095 bytes
/// - an argument with one dash and a letter that is no option, such as "-gpus": cxxopts would read
///   each letter as an option
/// - an option without its required value: cxxopts would take the next option as the value
///
/// Returns the problems (E142, E143) of the first kind that occurs. Arguments after "--" are not
/// checked for options. `table` has the keys that the help may name.
std::vector<Problem> check_line(const WrittenLine& line, const KeyTable& table);

}  // namespace mgpu::app
