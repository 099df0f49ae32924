#pragma once

#include <mgpu/lm/config/lm_config.hpp>

#include "config_fields.hpp"

namespace mgpu::lm {

/// Reads the generation settings of config.json or generation_config.json.
/// Errors: Failure E702
void read_generation(const ConfigFields& fields, GenerationDefaults& generation);

}  // namespace mgpu::lm
