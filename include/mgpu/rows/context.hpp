#pragma once

#include <cstdint>
#include <string>

#include <mgpu/lm/config/lm_config.hpp>

namespace mgpu::rows {

/// Returns for how many tokens the model was made. The number depends on the kind of its positions
/// (LmConfig::rope):
/// - RoPE without scaling: max_position_embeddings of config.json
/// - linear scaling: max_position_embeddings, multiplied by the scale factor if that is above 1
/// - Llama 3 and YaRN scaling: the larger of max_position_embeddings and scale factor * pretraining
///   context
/// - dynamic scaling: 0, because there is no limit
/// - learned positions: 0, because other checks limit the number of tokens
std::int64_t context_of(const lm::LmConfig& model);

/// Returns why a prompt of `tokens` tokens is too long for a model made for `context` tokens.
std::string beyond_context_text(std::int64_t tokens, std::int64_t context);

/// Returns the warning that `count` rows are longer than `context` tokens; "" if `count` is 0.
/// `help` tells the user what to type to avoid such rows.
std::string beyond_context_warning(std::int64_t count, std::int64_t context,
                                   const std::string& help);

}  // namespace mgpu::rows
