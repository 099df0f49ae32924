#pragma once

#include <string>
#include <string_view>

#include "json_node.hpp"

namespace mgpu::text {

/// The tokenizer classes of transformers that read a tokenizer.json. The class as_file uses the
/// whole file; the others use only the file's vocabulary, merges and post-processor.
enum class TokenizerClass { as_file, llama, gpt2, qwen2 };

/// Returns the tokenizer class that AutoTokenizer chooses.
///
/// `file` is tokenizer.json as text, `settings` tokenizer_config.json, `model` config.json.
/// Errors: E542 for any other class, and for code in the folder
/// Source: transformers 5.23, models/auto/tokenization_auto.py
TokenizerClass choose_tokenizer_class(const JsonNode& settings, const JsonNode& model,
                                      std::string_view file);

/// Returns the parts that a tokenizer class uses in place of those of tokenizer.json, as JSON in
/// the form of that file; "" for as_file.
/// Source: transformers 5.23, models/{llama,gpt2,qwen2}/tokenization_*.py
std::string own_parts(TokenizerClass kind, const JsonNode& settings);

/// Returns the default token of a tokenizer class for `role` (bos_token, ...), or "".
std::string_view standard_token(TokenizerClass kind, std::string_view role);

}  // namespace mgpu::text
