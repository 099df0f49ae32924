#pragma once

#include <mgpu/language/lm_config.hpp>

#include "config_fields.hpp"

namespace mgpu::language {

/// Takes over what the fields of config.json or generation_config.json say of generating.
/// Errors: Failure E702
void read_generation(const ConfigFields& fields, GenerationDefaults& generation);

}  // namespace mgpu::language
