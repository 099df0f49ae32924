#pragma once

#include <span>
#include <string>
#include <string_view>

#include "json_node.hpp"

namespace mgpu::text {

/// The tokenizer classes of transformers that read a tokenizer.json. The class as_file uses the
/// whole file. The others use the file's vocabulary and merges, and its post-processor unless
/// has_own_frame() is true.
enum class TokenizerClass { as_file, llama, code_llama, gpt2, gpt_neox, qwen2 };

/// Returns the tokenizer class that AutoTokenizer chooses.
///
/// `file` is tokenizer.json as text, `settings` tokenizer_config.json, `model` config.json.
/// Errors: E542 for a class that TokenizerClass lacks, and for a folder with custom code
/// Source: transformers 5.23, models/auto/tokenization_auto.py
TokenizerClass choose_tokenizer_class(const JsonNode& settings, const JsonNode& model,
                                      std::string_view file);

/// Returns the parts (such as the decoder) that a tokenizer class uses in place of those of
/// tokenizer.json, as JSON in the form of that file. Returns "" for as_file, which keeps the parts
/// of the file. `unknown` is the unknown token.
/// Source: transformers 5.23, models/{llama,code_llama,gpt2,gpt_neox,qwen2}/tokenization_*.py
std::string own_parts(TokenizerClass kind, const JsonNode& settings, std::string_view unknown);

/// Returns the default token of a tokenizer class for `role` (bos_token, ...), or "".
std::string_view standard_token(TokenizerClass kind, std::string_view role);

/// Returns the roles that a tokenizer class has beyond the standard ones, such as prefix_token.
std::span<const std::string_view> own_roles(TokenizerClass kind);

/// Returns whether a class makes its parts from a tokenizer.model, if there is no tokenizer.json.
bool reads_pieces(TokenizerClass kind);

/// Returns whether a class ignores the special tokens that tokenizer.json puts around a text. Class
/// code_llama adds only the token bos instead, and gpt_neox adds no token.
bool has_own_frame(TokenizerClass kind);

}  // namespace mgpu::text
