#pragma once

#include <cstdint>
#include <string>

#include "lm/config/family.hpp"

// Functions for Llama and similar families, which share RMS norms, rotary positions, grouped-query
// attention, a gated MLP, and the names of tensors.
namespace mgpu::lm {

/// The largest numbers that configurations may have. A damaged one must not ask for all memory.
inline constexpr std::int64_t kMaxLayers = 1024;
inline constexpr std::int64_t kMaxExperts = 4096;

/// Reads all fields of an ordinary decoder, except biases and windows, which depend on the family.
void read_decoder(const ConfigFields& fields, LmConfig& config);

/// Reads the sliding windows of Qwen: `use_sliding_window`, `layer_types` or `max_window_layers`.
void read_qwen_windows(const ConfigFields& fields, LmConfig& config);

/// Sets the window of the layers that `layer_types` marks as sliding. Returns false if the list is
/// absent.
bool read_layer_types(const ConfigFields& fields, std::int64_t window, LmConfig& config);

LmWeights bind_decoder(const LmConfig& config, WeightSource& source);

/// A function that binds all weights of a layer. `layer` is a prefix such as "model.layers.3.".
using LayerBinder = LayerWeights (*)(const LmConfig& config, WeightSource& source,
                                     const std::string& layer);

/// Binds all weights of a model. `bind_layer` binds those of each layer.
LmWeights bind_layers(const LmConfig& config, WeightSource& source, LayerBinder bind_layer);

/// Binds the attention weights and both norms of a layer.
LayerWeights bind_attention(const LmConfig& config, WeightSource& source, const std::string& layer);

Linear take_linear(WeightSource& source, const std::string& name, std::int64_t out, std::int64_t in,
                   bool has_bias);

/// Reads `hidden_act` or a similar field. Errors: Failure E701.
Activation activation_of(const ConfigFields& fields, const std::string& name);

}  // namespace mgpu::lm
