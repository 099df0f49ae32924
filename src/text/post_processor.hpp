#pragma once

#include <vector>

#include "json_node.hpp"
#include "vocabulary.hpp"

namespace mgpu::text {

/// The special tokens that are added before and after the tokens of a text, if special tokens are
/// requested.
struct TokenFrame {
  std::vector<TokenId> before, behind;
};

/// Reads the tokens that a post-processor of tokenizer.json puts around one text. A post-processor
/// of type ByteLevel adds no tokens.
/// Errors: E541 (malformed), E542 (not supported)
TokenFrame read_post_processor(const JsonNode& node);

}  // namespace mgpu::text
