// Reads any bytes as config.json and generation_config.json of a model folder. The result must be a
// printable Failure, or positive sizes that are not too large.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/lm/config/lm_config.hpp>

#include "lm/weights/stored_head.hpp"
#include "memory_file.hpp"

namespace mgpu::lm {

/// Replaces the program's function, which would look for the head in weights. No input has weights.
StoredHead find_stored_head(const fs::path& /*folder*/, const LmConfig& /*config*/) {
  std::abort();
}

}  // namespace mgpu::lm

namespace {

using namespace mgpu;
using fuzz::require;

void require_sane(const lm::LmConfig& config) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  for (const std::int64_t size : {config.vocab, config.hidden_size, config.heads, config.kv_heads,
                                  config.head_dim, config.intermediate_size})
    require(size > 0 && size < kLarge);
  require(!config.layers.empty() && config.layers.size() < 100'000);
  for (const lm::LayerConfig& layer : config.layers)
    require(layer.window >= 0 && std::isfinite(layer.score_scale));
  require(std::isfinite(config.rope.theta) && std::isfinite(config.rope.factor));
  require(std::isfinite(config.rope.attention_factor));
  require(config.heads % config.kv_heads == 0);
  require(config.heads * config.head_dim < kLarge);
  require(config.max_positions >= 0);
  require(config.experts.used >= 0 && config.experts.used <= config.experts.count);
  require(config.norm_epsilon >= 0.0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const lm::LmConfig config = lm::parse_lm_config("folder", {.config = text, .generation = text});
    require_sane(config);
  } catch (const Failure& failure) {
    const std::string shown = render(failure.report());
    require(find_bad_utf8(shown) == std::string::npos && shown.find('\x1b') == std::string::npos);
  }
  return 0;
}
