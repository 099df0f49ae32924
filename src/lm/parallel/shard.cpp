#include <mgpu/lm/parallel/shard.hpp>

namespace mgpu::lm {

Shard whole_model(const LmConfig& config) {
  return {.layers = {0, static_cast<std::int64_t>(config.layers.size())},
          .heads = {0, config.heads},
          .kv_heads = {0, config.kv_heads},
          .intermediate = {0, config.intermediate_size},
          .vocab = {0, config.vocab}};
}

LmConfig held_by(const Shard& shard, const LmConfig& config) {
  LmConfig held = config;
  held.heads = shard.heads.size();
  held.kv_heads = shard.kv_heads.size();
  held.intermediate_size = shard.intermediate.size();
  held.layers.assign(config.layers.begin() + shard.layers.begin,
                     config.layers.begin() + shard.layers.end);
  return held;
}

}  // namespace mgpu::lm
