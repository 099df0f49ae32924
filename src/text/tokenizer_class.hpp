#pragma once

#include <span>
#include <string>
#include <string_view>

#include "json_node.hpp"

namespace mgpu::text {

/// The tokenizer classes of transformers that are supported. The class as_file uses the whole
/// tokenizer.json. The other classes use only these parts of tokenizer.json:
/// - the vocabulary and the merges
/// - the tokens that SpecialTokens reads
/// - the post-processor, unless has_own_frame() is true
///
/// All other parts of these classes come from own_parts().
enum class TokenizerClass { as_file, llama, code_llama, gpt2, gpt_neox, qwen2 };

/// Returns the tokenizer class that AutoTokenizer of transformers chooses.
///
/// `settings` is tokenizer_config.json, `model` is config.json, and `file` is the content of
/// tokenizer.json.
/// Errors: E541 (malformed); E542 for a class that TokenizerClass lacks, for a model type whose
///         default class is not known, and for a folder with custom code
/// Source: transformers 5.23, models/auto/tokenization_auto.py
TokenizerClass choose_tokenizer_class(const JsonNode& settings, const JsonNode& model,
                                      std::string_view file);

/// Returns the parts (such as the decoder) that a tokenizer class uses in place of those of
/// tokenizer.json, as JSON in the form of that file. Returns "" for as_file, which keeps the parts
/// of the file. `settings` is tokenizer_config.json, and `unknown` is the text of the unknown
/// token.
/// Source: transformers 5.23, models/{llama,code_llama,gpt2,gpt_neox,qwen2}/tokenization_*.py
std::string own_parts(TokenizerClass kind, const JsonNode& settings, std::string_view unknown);

/// Returns the text of the default token of a tokenizer class for a role (bos_token, ...); "" if
/// the class has no default token for the role.
std::string_view standard_token(TokenizerClass kind, std::string_view role);

/// Returns the roles that a tokenizer class has in addition to the standard roles, such as
/// prefix_token.
std::span<const std::string_view> own_roles(TokenizerClass kind);

/// Returns whether a class can read a tokenizer.model, which is used if tokenizer.json is missing.
bool reads_pieces(TokenizerClass kind);

/// Returns whether a class ignores the special tokens that tokenizer.json puts around a text. This
/// is true for code_llama, which puts only the token bos before a text, and for gpt_neox, which
/// adds no tokens. In a folder with tokenizer.model instead of tokenizer.json, add_bos_token and
/// add_eos_token of tokenizer_config.json determine the tokens of every class.
bool has_own_frame(TokenizerClass kind);

}  // namespace mgpu::text
