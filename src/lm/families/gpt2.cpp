#include <cmath>

#include "decoder.hpp"

namespace mgpu::lm {
namespace {

constexpr const char* kEmbedding = "transformer.wte.weight";

void read(const ConfigFields& fields, LmConfig& config) {
  config.hidden_size = fields.integer({"n_embd", "hidden_size"});
  config.heads = fields.integer({"n_head", "num_attention_heads"});
  config.kv_heads = config.heads;
  if (config.hidden_size % config.heads != 0)
    fields.refuse_value("`n_embd` is no multiple of `n_head`");
  config.head_dim = config.hidden_size / config.heads;
  config.intermediate_size = fields.integer_or({"n_inner"}, 4 * config.hidden_size);
  config.max_positions = fields.integer({"n_positions", "max_position_embeddings"});
  config.norm = NormKind::layer;
  config.norm_epsilon = fields.number_or({"layer_norm_epsilon"}, 1e-5);
  config.activation = activation_of(fields, fields.text_or({"activation_function"}, "gelu_new"));
  config.qkv_bias = config.out_bias = config.mlp_bias = true;
  config.tied_head = fields.flag_or({"tie_word_embeddings"}, true);
  const double scale = fields.flag_or({"scale_attn_weights"}, true)
                           ? 1.0 / std::sqrt(static_cast<double>(config.head_dim))
                           : 1.0;
  const bool by_layer = fields.flag_or({"scale_attn_by_inverse_layer_idx"}, false);
  const std::int64_t layers = fields.integer({"n_layer", "num_hidden_layers"}, 1, kMaxLayers);
  for (std::int64_t i = 0; i < layers; ++i)
    config.layers.push_back({0, by_layer ? scale / static_cast<double>(i + 1) : scale});
}

/// Takes a linear layer. GPT-2 stores the weight of the layer as a Conv1D, [in, out]. The result
/// has a view [out, in] of this weight, because all linear layers have this layout.
Linear take_conv(WeightSource& source, const std::string& name, std::int64_t out, std::int64_t in) {
  return {source.take(name + ".weight", {in, out}).t(), source.take(name + ".bias", {out}), {}};
}

Norm take_norm(WeightSource& source, const std::string& name, std::int64_t width) {
  return {source.take(name + ".weight", {width}), source.take(name + ".bias", {width})};
}

LayerWeights bind_layer(const LmConfig& config, WeightSource& source, const std::string& layer) {
  const std::int64_t width = config.hidden_size;
  LayerWeights weights;
  weights.attention_norm = take_norm(source, layer + "ln_1", width);
  const Linear qkv = take_conv(source, layer + "attn.c_attn", 3 * width, width);
  // One split() makes q, k and v. With three separate slices, autograd would make three gradients
  // as large as the whole matrix.
  const std::vector<at::Tensor> matrices = qkv.weight.split(width);
  const std::vector<at::Tensor> biases = qkv.bias.split(width);
  weights.q = {matrices[0], biases[0], {}};
  weights.k = {matrices[1], biases[1], {}};
  weights.v = {matrices[2], biases[2], {}};
  weights.out = take_conv(source, layer + "attn.c_proj", width, width);
  weights.mlp_norm = take_norm(source, layer + "ln_2", width);
  weights.up = take_conv(source, layer + "mlp.c_fc", config.intermediate_size, width);
  weights.down = take_conv(source, layer + "mlp.c_proj", width, config.intermediate_size);
  return weights;
}

LmWeights bind(const LmConfig& config, WeightSource& source) {
  LmWeights weights;
  weights.embedding = source.take(kEmbedding, {config.vocab, config.hidden_size});
  weights.positions =
      source.take("transformer.wpe.weight", {config.max_positions, config.hidden_size});
  for (std::size_t i = 0; i < config.layers.size(); ++i)
    weights.layers.push_back(
        bind_layer(config, source, "transformer.h." + std::to_string(i) + "."));
  weights.norm = take_norm(source, "transformer.ln_f", config.hidden_size);
  weights.head.weight = config.tied_head
                            ? weights.embedding
                            : source.take(kHeadName, {config.vocab, config.hidden_size});
  return weights;
}

}  // namespace

const Family& gpt2_family() {
  static constexpr Family kFamily{"gpt2", "GPT2", read, bind, {}, kEmbedding};
  return kFamily;
}

}  // namespace mgpu::lm
