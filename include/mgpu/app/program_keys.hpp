#pragma once

#include <mgpu/config/key_table.hpp>

namespace mgpu::app {

/// Returns every key of the program: the rows of all modules, in the order in which they are
/// printed.
const KeyTable& program_keys();

}  // namespace mgpu::app
