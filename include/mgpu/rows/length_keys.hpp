#pragma once

#include <mgpu/config/config.hpp>

namespace mgpu::rows {

/// How a sample with more tokens than data.max_length is treated.
enum class TooLong { truncate, drop, error };

/// Adds the keys data.max_length and data.too_long.
void add_length_keys(KeyTable& table);
TooLong read_too_long(const Config& config);

}  // namespace mgpu::rows
