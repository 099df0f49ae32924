#pragma once

#include <cstdint>
#include <string>

#include <mgpu/lm/config/lm_config.hpp>

namespace mgpu::rows {

/// Returns how many tokens the model was made for: max_position_embeddings of config.json, or the
/// pretraining context times the factor of a rotation that scales positions. 0: a model with
/// learned positions, which has no position beyond them, or a rotation without a limit.
std::int64_t context_of(const lm::LmConfig& model);

/// Returns why a prompt of `tokens` tokens is too long for a model made for `context` tokens.
std::string beyond_context_text(std::int64_t tokens, std::int64_t context);

/// Returns the warning about `count` rows that are longer than `context` tokens; "" without such
/// rows. `help`: what to type to avoid them.
std::string beyond_context_warning(std::int64_t count, std::int64_t context,
                                   const std::string& help);

}  // namespace mgpu::rows
