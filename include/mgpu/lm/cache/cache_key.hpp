#pragma once

#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/lm/cache/paged_cache.hpp>

namespace mgpu::lm {

/// Returns the KeySpec of a configuration key that sets the type of a job's KV cache. `name` is the
/// full name of the key, such as generate.kv_cache_dtype.
KeySpec cache_type_key(std::string name);

/// Reads the key `name`. Its KeySpec must be from cache_type_key().
CacheType read_cache_type(const Config& config, const std::string& name);

}  // namespace mgpu::lm
