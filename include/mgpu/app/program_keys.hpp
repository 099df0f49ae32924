#pragma once

#include <mgpu/config/key_table.hpp>

namespace mgpu::app {

/// Returns the table of all configuration keys, in the order in which they are printed. Every
/// module adds its own keys to the table.
const KeyTable& program_keys();

}  // namespace mgpu::app
