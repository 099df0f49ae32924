#include "decoder.hpp"

namespace mgpu::lm {
namespace {

void read(const ConfigFields& fields, LmConfig& config) {
  read_decoder(fields, config);
  config.qkv_bias = true;
  read_qwen_windows(fields, config);
}

}  // namespace

const Family& qwen2_family() {
  static constexpr Family kFamily{"qwen2", "Qwen2", read, bind_decoder};
  return kFamily;
}

}  // namespace mgpu::lm
