#pragma once

#include <mgpu/lm/config/lm_config.hpp>

#include "config_fields.hpp"

namespace mgpu::lm {

/// Reads the generation settings of config.json or generation_config.json into `generation`.
/// Settings that the file lacks keep their values. The lists of unsupported keys (`unused` and
/// `unused_in_draws`) are an exception: the function always replaces them by the unsupported keys
/// of this file.
/// Errors: Failure E702 for an invalid value.
void read_generation(const ConfigFields& fields, GenerationDefaults& generation);

}  // namespace mgpu::lm
