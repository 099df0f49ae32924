#pragma once

#include <vector>

#include "json_node.hpp"
#include "vocabulary.hpp"

namespace mgpu::text {

/// Tokens that stand before and behind those of a text, when special tokens are asked for.
struct TokenFrame {
  std::vector<TokenId> before, behind;
};

/// The frame that a post-processor puts around one text. ByteLevel changes no token.
/// Errors: E541, E542
TokenFrame read_post_processor(const JsonNode& node);

}  // namespace mgpu::text
