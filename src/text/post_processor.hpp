#pragma once

#include <vector>

#include "json_node.hpp"
#include "vocabulary.hpp"

namespace mgpu::text {

/// The special tokens that Tokenizer::encode() adds before and after the tokens of a text, if its
/// argument `add_special_tokens` is true.
struct TokenFrame {
  std::vector<TokenId> before, after;
};

/// Reads the tokens that a post-processor of tokenizer.json puts around one text. A post-processor
/// of type ByteLevel adds no tokens.
/// Errors: E541 (malformed), E542 (not supported)
TokenFrame read_post_processor(const JsonNode& node);

}  // namespace mgpu::text
