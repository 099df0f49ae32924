#pragma once

#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/lm/cache/paged_cache.hpp>

namespace mgpu::lm {

/// Returns the KeySpec (description) of a configuration key that sets the type of a job's KV cache.
/// `name` is the full name of the key, such as generate.kv_cache_dtype.
KeySpec cache_type_key(std::string name);

/// Returns the cache type that the key `name` sets. The KeySpec of this key must be the result of
/// cache_type_key().
CacheType read_cache_type(const Config& config, const std::string& name);

}  // namespace mgpu::lm
