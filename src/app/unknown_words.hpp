#pragma once

#include <cstddef>
#include <string>

#include <mgpu/config/config_problem.hpp>
#include <mgpu/config/key_table.hpp>

#include "written_line.hpp"

namespace mgpu::app {

/// Returns the problem (E142) for an option that does not exist, such as "--max_steps" or "-gpus".
/// `unknown` is the option as cxxopts read it, and `line[index]` is its argument. The help names
/// the option or the key of `table` that the user may mean.
Problem unknown_option(const WrittenLine& line, std::size_t index, const std::string& unknown,
                       const KeyTable& table);

/// Returns the problem (E144) for an argument that is no option, no KEY=VALUE, and no
/// configuration.
Problem unknown_word(const WrittenLine& line, std::size_t index);

}  // namespace mgpu::app
