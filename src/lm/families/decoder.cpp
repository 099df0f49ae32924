#include "decoder.hpp"

#include <cmath>

#include "lm/config/rope_config.hpp"

namespace mgpu::lm {
namespace {

LayerWeights bind_dense_layer(const LmConfig& config, WeightSource& source,
                              const std::string& layer) {
  LayerWeights weights = bind_attention(config, source, layer);
  const std::string mlp = layer + "mlp.";
  weights.gate = take_linear(source, mlp + "gate_proj", config.intermediate_size,
                             config.hidden_size, config.mlp_bias);
  weights.up = take_linear(source, mlp + "up_proj", config.intermediate_size, config.hidden_size,
                           config.mlp_bias);
  weights.down = take_linear(source, mlp + "down_proj", config.hidden_size,
                             config.intermediate_size, config.mlp_bias);
  return weights;
}

}  // namespace

Linear take_linear(WeightSource& source, const std::string& name, std::int64_t out, std::int64_t in,
                   bool has_bias) {
  Linear linear{source.take(name + ".weight", {out, in}), {}, {}};
  if (has_bias) linear.bias = source.take(name + ".bias", {out});
  return linear;
}

LayerWeights bind_attention(const LmConfig& config, WeightSource& source,
                            const std::string& layer) {
  const std::string attention = layer + "self_attn.";
  const std::int64_t queries = config.heads * config.head_dim;
  const std::int64_t keys = config.kv_heads * config.head_dim;
  const std::int64_t width = config.hidden_size;
  LayerWeights weights;
  weights.attention_norm.weight = source.take(layer + "input_layernorm.weight", {width});
  weights.q = take_linear(source, attention + "q_proj", queries, width, config.qkv_bias);
  weights.k = take_linear(source, attention + "k_proj", keys, width, config.qkv_bias);
  weights.v = take_linear(source, attention + "v_proj", keys, width, config.qkv_bias);
  weights.out = take_linear(source, attention + "o_proj", width, queries, config.out_bias);
  if (config.head_norm) {
    weights.q_norm = source.take(attention + "q_norm.weight", {config.head_dim});
    weights.k_norm = source.take(attention + "k_norm.weight", {config.head_dim});
  }
  if (config.sinks) weights.sinks = source.take(attention + "sinks", {config.heads});
  weights.mlp_norm.weight = source.take(layer + "post_attention_layernorm.weight", {width});
  return weights;
}

Activation activation_of(const ConfigFields& fields, const std::string& name) {
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  fields.refuse_feature("activation `" + name + "`", "silu, gelu, gelu_new, gelu_pytorch_tanh");
}

void read_decoder(const ConfigFields& fields, LmConfig& config,
                  std::optional<std::int64_t> default_head_dim) {
  config.hidden_size = fields.integer({"hidden_size"});
  config.intermediate_size = fields.integer({"intermediate_size"});
  config.heads = fields.integer({"num_attention_heads"});
  config.kv_heads = fields.integer_or({"num_key_value_heads"}, config.heads);
  if (!default_head_dim && !fields.has({"head_dim"}) && config.hidden_size % config.heads != 0)
    fields.refuse_value("`hidden_size` is no multiple of `num_attention_heads`");
  config.head_dim =
      fields.integer_or({"head_dim"}, default_head_dim.value_or(config.hidden_size / config.heads));
  config.max_positions = fields.integer({"max_position_embeddings"});
  const LayerConfig layer{0, 1.0 / std::sqrt(static_cast<double>(config.head_dim))};
  const std::int64_t layers = fields.integer({"num_hidden_layers"}, 1, kMaxLayers);
  config.layers.assign(static_cast<std::size_t>(layers), layer);
  config.norm = NormKind::rms;
  config.norm_epsilon = fields.number_or({"rms_norm_eps"}, 1e-6);
  config.activation = activation_of(fields, fields.text_or({"hidden_act"}, "silu"));
  config.rope = read_rope_config(fields, config.max_positions);
  config.tied_head = fields.flag_or({"tie_word_embeddings"}, false);
}

void read_qwen_windows(const ConfigFields& fields, LmConfig& config) {
  if (!fields.flag_or({"use_sliding_window"}, false) || fields.is_null("sliding_window")) return;
  const std::int64_t window = fields.integer_or({"sliding_window"}, 4096);
  if (read_layer_types(fields, window, config)) return;
  const auto first = static_cast<std::size_t>(fields.integer_or({"max_window_layers"}, 28, 0));
  for (std::size_t i = first; i < config.layers.size(); ++i)
    config.layers[i].window = window;
}

bool read_layer_types(const ConfigFields& fields, std::int64_t window, LmConfig& config) {
  const formats::JsonValue* types = fields.find({"layer_types"});
  if (types == nullptr) return false;
  if (types->list() == nullptr || types->list()->size() != config.layers.size())
    fields.refuse_value("`layer_types` does not name one type per layer");
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const std::string* type = types->list()->at(i).text();
    const bool slides = type != nullptr && *type == "sliding_attention";
    if (!slides && (type == nullptr || *type != "full_attention")) {
      fields.refuse_feature("layer type `" + (type == nullptr ? std::string("?") : *type) + "`",
                            "full_attention, sliding_attention");
    }
    if (slides) config.layers[i].window = window;
  }
  return true;
}

LmWeights bind_decoder(const LmConfig& config, WeightSource& source) {
  return bind_layers(config, source, bind_dense_layer);
}

LmWeights bind_layers(const LmConfig& config, WeightSource& source, LayerBinder bind_layer) {
  LmWeights weights;
  weights.embedding = source.take("model.embed_tokens.weight", {config.vocab, config.hidden_size});
  for (std::size_t i = 0; i < config.layers.size(); ++i)
    weights.layers.push_back(bind_layer(config, source, "model.layers." + std::to_string(i) + "."));
  weights.norm.weight = source.take("model.norm.weight", {config.hidden_size});
  weights.head.weight = config.tied_head
                            ? weights.embedding
                            : source.take(kHeadName, {config.vocab, config.hidden_size});
  return weights;
}

}  // namespace mgpu::lm
