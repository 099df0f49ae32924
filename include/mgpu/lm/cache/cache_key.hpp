#pragma once

#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/lm/cache/paged_cache.hpp>

namespace mgpu::lm {

/// Returns key `name` of a job, such as generate.kv_cache_dtype. It sets the type of the KV cache.
KeySpec cache_type_key(std::string name);

/// Reads a key that cache_type_key() made.
CacheType read_cache_type(const Config& config, const std::string& name);

}  // namespace mgpu::lm
