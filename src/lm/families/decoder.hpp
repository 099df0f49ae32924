#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lm/config/family.hpp"

// Functions for Llama and similar families. These families have RMS norms, rotary position
// embeddings, grouped-query attention, and a gated MLP or a mixture of experts. All their
// tensors outside the MLP have the same names.
namespace mgpu::lm {

/// The largest numbers of layers and experts that a configuration may have. The limits prevent a
/// damaged configuration from requesting all memory.
inline constexpr std::int64_t kMaxLayers = 1024;
inline constexpr std::int64_t kMaxExperts = 4096;

/// Reads the fields of config.json that all of these families have. Fields about biases and sliding
/// windows are not read, because they depend on the family. `default_head_dim` is the width of
/// a head if the field `head_dim` is missing; nullopt: hidden_size / num_attention_heads. Errors:
/// Failure E701 for an activation or a rotation that is not supported, E702 for a missing or
/// invalid value.
void read_decoder(const ConfigFields& fields, LmConfig& config,
                  std::optional<std::int64_t> default_head_dim = std::nullopt);

/// Sets the sliding windows of Qwen models. If `use_sliding_window` is false or absent, or if
/// `sliding_window` is null, no layer has a window. Otherwise, `layer_types` determines which
/// layers have a window. If `layer_types` is absent, all layers with index >= `max_window_layers`
/// have one.
///
/// Errors: those of read_layer_types(); Failure E702 for an invalid value.
void read_qwen_windows(const ConfigFields& fields, LmConfig& config);

/// Sets LayerConfig::window to `window` in the layers whose entry of `layer_types` is
/// sliding_attention. Returns false if `layer_types` is absent. Errors: Failure E701 for an entry
/// other than sliding_attention and full_attention, E702 if there is not one entry per layer.
bool read_layer_types(const ConfigFields& fields, std::int64_t window, LmConfig& config);

/// Takes all weights of a model with a gated MLP in each layer from `source`.
LmWeights bind_decoder(const LmConfig& config, WeightSource& source);

/// A function that takes all weights of a layer from `source`. `layer` is the prefix of the
/// layer's weight names, such as "model.layers.3.".
using LayerBinder = LayerWeights (*)(const LmConfig& config, WeightSource& source,
                                     const std::string& layer);

/// Takes all weights of a model from `source`. Calls `bind_layer` to take the weights of each
/// layer.
LmWeights bind_layers(const LmConfig& config, WeightSource& source, LayerBinder bind_layer);

/// Takes the attention weights of a layer, and the weights of its two norms, from `source`. `layer`
/// is a prefix of names such as "model.layers.3.".
LayerWeights bind_attention(const LmConfig& config, WeightSource& source, const std::string& layer);

/// Takes the weight [out, in] NAME.weight and, if `has_bias`, the bias NAME.bias from `source`.
Linear take_linear(WeightSource& source, const std::string& name, std::int64_t out, std::int64_t in,
                   bool has_bias);

/// Returns the activation that transformers calls `name`, such as "silu". Errors: Failure E701 if
/// the activation is not supported. The message names the file of `fields`.
Activation activation_of(const ConfigFields& fields, const std::string& name);

}  // namespace mgpu::lm
