#include "decoder.hpp"

namespace mgpu::lm {
namespace {

void read(const ConfigFields& fields, LmConfig& config) {
  read_decoder(fields, config);
  config.qkv_bias = fields.flag_or({"attention_bias"}, false);
  config.out_bias = config.qkv_bias;
  config.mlp_bias = fields.flag_or({"mlp_bias"}, false);
}

}  // namespace

const Family& llama_family() {
  static constexpr Family kFamily{"llama", "Llama", read, bind_decoder};
  return kFamily;
}

}  // namespace mgpu::lm
