#pragma once

#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/lm/cache/paged_cache.hpp>

namespace mgpu::lm {

/// Returns the KeySpec of a job's key that sets the type of the KV cache. `name` is the full name
/// of the key, such as generate.kv_cache_dtype.
KeySpec cache_type_key(std::string name);

/// Reads the key `name`, whose KeySpec cache_type_key() made.
CacheType read_cache_type(const Config& config, const std::string& name);

}  // namespace mgpu::lm
