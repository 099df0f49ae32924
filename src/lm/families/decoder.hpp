#pragma once

#include "lm/config/family.hpp"

// What Llama and its relatives share: RMS norms, rotary positions, grouped queries, a gated MLP,
// and the names of their tensors.
namespace mgpu::lm {

/// All fields of an ordinary decoder; biases and windows are the family's.
void read_decoder(const ConfigFields& fields, LmConfig& config);

/// Sliding windows of Qwen: `use_sliding_window`, `layer_types` or `max_window_layers`.
void read_qwen_windows(const ConfigFields& fields, LmConfig& config);

/// Windows of the layers that `layer_types` says slide; false where there is no such list.
bool read_layer_types(const ConfigFields& fields, std::int64_t window, LmConfig& config);

LmWeights bind_decoder(const LmConfig& config, WeightSource& source);

/// All of a layer; `layer` is "model.layers.3.".
using LayerBinder = LayerWeights (*)(const LmConfig& config, WeightSource& source,
                                     const std::string& layer);

/// The same with layers of the family's own.
LmWeights bind_layers(const LmConfig& config, WeightSource& source, LayerBinder bind_layer);

/// The part of a layer that is not the MLP, norms included.
LayerWeights bind_attention(const LmConfig& config, WeightSource& source, const std::string& layer);

Linear take_linear(WeightSource& source, const std::string& name, std::int64_t out, std::int64_t in,
                   bool has_bias);

/// `hidden_act` and its relatives. Errors: Failure E701.
Activation activation_of(const ConfigFields& fields, const std::string& name);

}  // namespace mgpu::lm
