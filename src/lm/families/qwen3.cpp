#include "decoder.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kHeadDim = 128;  // default of head_dim

void read(const ConfigFields& fields, LmConfig& config) {
  read_decoder(fields, config, kHeadDim);
  config.qkv_bias = fields.flag_or({"attention_bias"}, false);
  config.out_bias = config.qkv_bias;
  config.head_norm = true;
  read_qwen_windows(fields, config);
}

}  // namespace

const Family& qwen3_family() {
  static constexpr Family kFamily{"qwen3", "Qwen3", read, bind_decoder};
  return kFamily;
}

}  // namespace mgpu::lm
