#pragma once

#include <vector>

#include <mgpu/config/config_problem.hpp>
#include <mgpu/config/key_table.hpp>

#include "written_line.hpp"

namespace mgpu::app {

/// Checks a command line for what cxxopts would read in another way than the user means:
/// - an argument of more than 4,095 bytes
/// - an argument with one dash, such as "-gpus", of which cxxopts would read each letter as an
/// option
/// - an option whose required value is missing, so that cxxopts would take the next option as the
///   value
///
/// Returns a problem (E142, E143) for each such argument. Arguments after "--" are not checked for
/// options. `table` has the keys that the help may name.
std::vector<Problem> check_line(const WrittenLine& line, const KeyTable& table);

}  // namespace mgpu::app
