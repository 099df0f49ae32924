#pragma once

#include <cstdint>

#include <mgpu/config/config.hpp>

namespace mgpu::rows {

/// How to treat a sample with more tokens than data.max_length.
enum class TooLong { truncate, drop, error };

/// Adds the keys data.max_length and data.too_long.
void add_length_keys(KeyTable& table);

/// The values of data.max_length and data.too_long.
struct LengthKeys {
  std::int64_t max_length = 0;  // tokens
  TooLong too_long = TooLong::truncate;
};
LengthKeys read_length_keys(const Config& config);

}  // namespace mgpu::rows
