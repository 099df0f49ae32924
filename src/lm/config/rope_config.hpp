#pragma once

#include <cstdint>

#include <mgpu/lm/config/lm_config.hpp>

#include "config_fields.hpp"

namespace mgpu::lm {

/// Reads the settings of rotary position embeddings from `rope_parameters` of transformers 5, or
/// `rope_theta` and `rope_scaling` of transformers 4. `positions` is LmConfig::max_positions.
///
/// Errors: Failure E701 for a kind of scaling that is not supported, for a partial rotation, or for
///         separate settings per type of layer; E702 for an invalid value.
/// Source: transformers 5.23, modeling_rope_utils.py.
RopeConfig read_rope_config(const ConfigFields& fields, std::int64_t positions);

}  // namespace mgpu::lm
