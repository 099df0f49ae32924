#include <mgpu/ad/ad_transformer_config.hpp>

namespace mgpu::ad {

void add_model_keys(KeyTable& table) {
  table.add({.name = "model.arch",
             .type = KeyType::choice,
             .default_value = "algorithm_distillation",
             .summary = "kind of model",
             .choices = {"algorithm_distillation"}});
  table.add(
      {.name = "model.tokens",
       .type = KeyType::choice,
       .default_value = "step",
       .summary = "one token per time step, loss on each; or per transition, loss at the query",
       .choices = {"step", "transition"}});
  table.add({.name = "model.tf_n_embd",
             .type = KeyType::integer,
             .default_value = "64",
             .summary = "width of the transformer, a multiple of tf_n_head",
             .min = 1,
             .max = 65536,
             .aliases = {"tf_n_embd"},
             .foreign = {{"hidden_size", "transformers",
                          "here it is `model.tf_n_embd` with data.env; a language model has it in "
                          "config.json of `model.init`"}}});
  table.add({.name = "model.tf_n_layer",
             .type = KeyType::integer,
             .default_value = "4",
             .summary = "transformer blocks",
             .min = 1,
             .max = 1024,
             .aliases = {"tf_n_layer"},
             .foreign = {{"num_hidden_layers", "transformers",
                          "here it is `model.tf_n_layer` with data.env; a language model has it in "
                          "config.json of `model.init`"}}});
  table.add({.name = "model.tf_n_head",
             .type = KeyType::integer,
             .default_value = "4",
             .summary = "attention heads",
             .min = 1,
             .max = 128,
             .aliases = {"tf_n_head"},
             .foreign = {{"num_attention_heads", "transformers",
                          "here it is `model.tf_n_head` with data.env; a language model has it in "
                          "config.json of `model.init`"}}});
  table.add({.name = "model.tf_n_inner",
             .type = KeyType::integer,
             .default_value = "auto",
             .summary = "width inside the MLP; auto: twice tf_n_embd",
             .min = 1,
             .max = 1048576,
             .choices = {"auto"}});
  table.add({.name = "model.tf_dropout",
             .type = KeyType::number,
             .default_value = "0.1",
             .summary = "dropout of attention probabilities and residual branches",
             .min = 0.0,
             .max = 0.99,
             .aliases = {"tf_dropout"}});
  table.add({.name = "model.n_transit",
             .type = KeyType::integer,
             .default_value = "240",
             .summary = "context length, the query included",
             .unit = "tokens",
             .min = 2,
             .max = 16384,
             .aliases = {"n_transit"}});
  table.add({.name = "model.attn_impl",
             .type = KeyType::choice,
             .default_value = "auto",
             .summary = "attention through libtorch's matrices or our fused kernel; auto: flash",
             .choices = {"auto", "eager", "flash"},
             .aliases = {"system.attn_impl"}});
}

TokenKind read_token_kind(const Config& config) {
  return config.is("model.tokens", "step") ? TokenKind::step : TokenKind::transition;
}

std::int64_t read_n_transit(const Config& config) {
  return config.integer("model.n_transit");
}

AdTransformerConfig read_ad_transformer_config(const Config& config) {
  AdTransformerConfig result;
  result.tokens = read_token_kind(config);
  result.attention =
      config.is("model.attn_impl", "eager") ? AttentionKind::eager : AttentionKind::flash;
  result.n_embd = config.integer("model.tf_n_embd");
  result.n_layer = config.integer("model.tf_n_layer");
  result.n_head = config.integer("model.tf_n_head");
  result.n_inner = config.is("model.tf_n_inner", "auto") ? 2 * result.n_embd
                                                         : config.integer("model.tf_n_inner");
  result.dropout = config.number("model.tf_dropout");
  result.n_transit = read_n_transit(config);
  if (result.n_embd % result.n_head != 0)
    throw config.problem("E107", "model.tf_n_embd",
                         "model.tf_n_embd is not a multiple of model.tf_n_head (" +
                             std::to_string(result.n_head) + ")");
  if (result.n_embd / result.n_head > 64 && result.attention == AttentionKind::flash)
    throw config.problem("E107", "model.tf_n_head", "an attention head is wider than 64",
                         "more heads, or model.attn_impl: eager");
  return result;
}

}  // namespace mgpu::ad
