#include "decoder.hpp"

namespace mgpu::lm {
namespace {

constexpr double kTheta = 150000.0;    // default of rope_theta
constexpr std::int64_t kWindow = 128;  // default of sliding_window

/// Sets the sliding windows of the layers, unless `sliding_window` is null. If `layer_types` is
/// absent, every second layer has a window, beginning with the first layer.
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
  config.experts.count = fields.integer({"num_local_experts", "num_experts"}, 1, kMaxExperts);
  config.experts.used = fields.integer({"num_experts_per_tok", "experts_per_token"});
  config.experts.gain = fields.number_or({"swiglu_alpha"}, config.experts.gain);
  config.experts.limit = fields.number_or({"swiglu_limit"}, config.experts.limit);
  if (config.experts.limit <= 0.0) fields.refuse_value("`swiglu_limit` is not positive");
  read_windows(fields, config);
}

/// Returns the experts as views of the stored tensors. In the stored tensors, gate and up outputs
/// are interleaved, and matrices are [in, out]. One unbind() makes the views of all experts. With a
/// separate slice for each expert, autograd would make one gradient per expert, as large as all
/// experts together.
std::vector<Expert> experts_of(const Linear& gate_up, const Linear& down) {
  const auto in_turns = [&](const at::Tensor& all) {
    return all.unflatten(-1, {-1, 2}).unbind(-1);  // gates, ups
  };
  const std::vector<at::Tensor> matrices = in_turns(gate_up.weight);
  const std::vector<at::Tensor> biases = in_turns(gate_up.bias);
  const std::vector<at::Tensor> gates = matrices[0].unbind(0);
  const std::vector<at::Tensor> gate_biases = biases[0].unbind(0);
  const std::vector<at::Tensor> ups = matrices[1].unbind(0);
  const std::vector<at::Tensor> up_biases = biases[1].unbind(0);
  const std::vector<at::Tensor> downs = down.weight.unbind(0);
  const std::vector<at::Tensor> down_biases = down.bias.unbind(0);
  std::vector<Expert> experts;
  for (std::size_t e = 0; e < downs.size(); ++e)
    experts.push_back({{gates[e].t(), gate_biases[e], {}},
                       {ups[e].t(), up_biases[e], {}},
                       {downs[e].t(), down_biases[e], {}}});
  return experts;
}

LayerWeights bind_layer(const LmConfig& config, WeightSource& source, const std::string& layer) {
  LayerWeights weights = bind_attention(config, source, layer);
  const std::int64_t count = config.experts.count;
  const std::int64_t width = config.hidden_size;
  const std::int64_t inner = config.intermediate_size;
  weights.router = take_linear(source, layer + "mlp.router", count, width, true);
  const std::string experts = layer + "mlp.experts.";
  const Linear gate_up{source.take(experts + "gate_up_proj", {count, width, 2 * inner}),
                       source.take(experts + "gate_up_proj_bias", {count, 2 * inner}),
                       {}};
  const Linear down{source.take(experts + "down_proj", {count, inner, width}),
                    source.take(experts + "down_proj_bias", {count, width}),
                    {}};
  weights.experts = experts_of(gate_up, down);
  return weights;
}

LmWeights bind(const LmConfig& config, WeightSource& source) {
  return bind_layers(config, source, bind_layer);
}

}  // namespace

const Family& gpt_oss_family() {
  static constexpr Family kFamily{"gpt_oss", "GptOss", read, bind, "mxfp4"};
  return kFamily;
}

}  // namespace mgpu::lm
