#pragma once

#include "../family.hpp"

// What Llama and its relatives share: RMS norms, rotary positions, grouped queries, a gated MLP,
// and the names of their tensors.
namespace mgpu::language {

/// All fields of an ordinary decoder; biases and windows are the family's.
void read_decoder(const ConfigFields& fields, LmConfig& config);

/// Sliding windows of Qwen: `use_sliding_window`, `layer_types` or `max_window_layers`.
void read_qwen_windows(const ConfigFields& fields, LmConfig& config);

LmWeights bind_decoder(const LmConfig& config, WeightSource& source);

/// `hidden_act` and its relatives. Errors: Failure E701.
Activation activation_of(const ConfigFields& fields, const std::string& name);

}  // namespace mgpu::language
