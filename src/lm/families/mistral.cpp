#include "decoder.hpp"

namespace mgpu::lm {
namespace {

void read(const ConfigFields& fields, LmConfig& config) {
  read_decoder(fields, config);
  if (fields.has({"layer_types"}))
    fields.refuse_feature("`layer_types` in a mistral model", "one window for all layers");
  if (fields.is_null("sliding_window")) return;
  for (LayerConfig& layer : config.layers)
    layer.window = fields.integer_or({"sliding_window"}, 4096);
}

}  // namespace

const Family& mistral_family() {
  static constexpr Family kFamily{"mistral", "Mistral", read, bind_decoder};
  return kFamily;
}

}  // namespace mgpu::lm
