#pragma once

#include <string>
#include <string_view>

#include "json_node.hpp"

namespace mgpu::text {

/// The classes of transformers that read a tokenizer.json. All but the first take only the
/// vocabulary, the merges and the post-processor from it, whatever else it says.
enum class TokenizerClass { as_file, llama, gpt2, qwen2 };

/// Which one AutoTokenizer takes.
///
/// `file` is tokenizer.json as text, `settings` tokenizer_config.json, `model` config.json.
/// Errors: E542 for a class that is none of these, and for code in the folder
/// Source: transformers 5.23, models/auto/tokenization_auto.py
TokenizerClass choose_tokenizer_class(const JsonNode& settings, const JsonNode& model,
                                      std::string_view file);

/// The parts that the class has instead of the file's, written as in tokenizer.json; "" for
/// as_file. Source: transformers 5.23, models/{llama,gpt2,qwen2}/tokenization_*.py
std::string own_parts(TokenizerClass kind, const JsonNode& settings);

/// The token that the class has for `role` (bos_token, ...) unless it is told otherwise, or "".
std::string_view standard_token(TokenizerClass kind, std::string_view role);

}  // namespace mgpu::text
