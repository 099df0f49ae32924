#pragma once

#include <mgpu/config/config.hpp>

namespace mgpu::rows {

/// What becomes of a sample with more tokens than data.max_length.
enum class TooLong { truncate, drop, error };

/// The keys data.max_length and data.too_long.
void add_length_keys(KeyTable& table);
TooLong read_too_long(const Config& config);

}  // namespace mgpu::rows
