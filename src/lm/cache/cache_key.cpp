#include <utility>

#include <mgpu/lm/cache/cache_key.hpp>

namespace mgpu::lm {

KeySpec cache_type_key(std::string name) {
  return {.name = std::move(name),
          .type = KeyType::choice,
          .default_value = "float32",
          .summary = "type of the keys and values in the KV cache; bfloat16 takes half the memory",
          .choices = {"float32", "bfloat16"}};
}

CacheType read_cache_type(const Config& config, const std::string& name) {
  return config.is(name, "bfloat16") ? CacheType::bf16 : CacheType::f32;
}

}  // namespace mgpu::lm
