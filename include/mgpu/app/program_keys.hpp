#pragma once

#include <mgpu/config/key_table.hpp>

namespace mgpu::app {

/// Returns the table of all configuration keys, which every module adds to, in the order in which
/// they are printed.
const KeyTable& program_keys();

}  // namespace mgpu::app
