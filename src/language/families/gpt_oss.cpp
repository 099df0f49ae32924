#include "decoder.hpp"

namespace mgpu::language {
namespace {

constexpr double kTheta = 150000.0;  // where config.json does not say
constexpr std::int64_t kWindow = 128;

/// Without a list the first layer slides, the second sees all, and so on.
void read_windows(const ConfigFields& fields, LmConfig& config) {
  const bool has_window = !fields.is_null("sliding_window");
  const std::int64_t window = has_window ? fields.integer_or({"sliding_window"}, kWindow) : 0;
  if (read_layer_types(fields, window, config)) return;
  for (std::size_t i = 0; i < config.layers.size(); i += 2)
    config.layers[i].window = window;
}

void read(const ConfigFields& fields, LmConfig& config) {
  read_decoder(fields, config);
  const auto rope = fields.object({"rope_scaling", "rope_parameters"});
  if (!rope) fields.refuse_value("`rope_parameters` is missing");
  if (!rope->has({"rope_theta"}) && !fields.has({"rope_theta"})) config.rope.theta = kTheta;
  if (!fields.has({"head_dim"})) fields.refuse_value("`head_dim` is missing");
  config.norm_epsilon = fields.number_or({"rms_norm_eps"}, 1e-5);
  config.qkv_bias = config.out_bias = fields.flag_or({"attention_bias"}, true);
  config.sinks = true;
  config.experts.count = fields.integer({"num_local_experts", "num_experts"});
  config.experts.used = fields.integer({"num_experts_per_tok", "experts_per_token"});
  config.experts.gain = fields.number_or({"swiglu_alpha"}, config.experts.gain);
  config.experts.limit = fields.number_or({"swiglu_limit"}, config.experts.limit);
  if (config.experts.limit <= 0.0) fields.refuse_value("`swiglu_limit` is not positive");
  read_windows(fields, config);
}

/// Gates and ups come in turns among the outputs; the matrices are stored as [in, out].
Expert expert_of(const Linear& gate_up, const Linear& down, std::int64_t index) {
  const at::Tensor matrix = gate_up.weight.select(0, index).t();
  const at::Tensor bias = gate_up.bias.select(0, index);
  const auto every_second = [](const at::Tensor& rows, std::int64_t first) {
    return rows.slice(0, first, rows.size(0), 2);
  };
  return {{every_second(matrix, 0), every_second(bias, 0), {}},
          {every_second(matrix, 1), every_second(bias, 1), {}},
          {down.weight.select(0, index).t(), down.bias.select(0, index), {}}};
}

LayerWeights bind_layer(const LmConfig& config, WeightSource& source, const std::string& layer) {
  LayerWeights weights = bind_attention(config, source, layer);
  const std::int64_t count = config.experts.count;
  const std::int64_t width = config.width;
  const std::int64_t inner = config.inner;
  weights.router = take_linear(source, layer + "mlp.router", count, width, true);
  const std::string experts = layer + "mlp.experts.";
  const Linear gate_up{source.take(experts + "gate_up_proj", {count, width, 2 * inner}),
                       source.take(experts + "gate_up_proj_bias", {count, 2 * inner}),
                       {}};
  const Linear down{source.take(experts + "down_proj", {count, inner, width}),
                    source.take(experts + "down_proj_bias", {count, width}),
                    {}};
  for (std::int64_t i = 0; i < count; ++i)
    weights.experts.push_back(expert_of(gate_up, down, i));
  return weights;
}

LmWeights bind(const LmConfig& config, WeightSource& source) {
  return bind_layers(config, source, bind_layer);
}

}  // namespace

const Family& gpt_oss_family() {
  static constexpr Family kFamily{"gpt_oss", read, bind, "mxfp4"};
  return kFamily;
}

}  // namespace mgpu::language
