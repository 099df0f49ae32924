#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/file_io.hpp>

#include "added_tokens.hpp"

namespace mgpu::text {

/// The content of a tokenizer.model, the file of SentencePiece.
struct SentencePieces {
  std::string tokenizer;           // the vocabulary and the merges in the form of a tokenizer.json
  std::vector<AddedToken> tokens;  // the control tokens and the user-defined symbols
};

/// Converts `model`, the content of a tokenizer.model that uses BPE, as transformers does. Each
/// pair of pieces whose concatenation is a piece becomes a merge. The merges are sorted by the ids
/// of their results. `file` is the path for messages.
///
/// Errors: Failure E541 (malformed), E542 (the model does not use BPE, or normalizes texts)
/// Source: sentencepiece_model.proto; transformers 5.23, convert_slow_tokenizer.py
SentencePieces read_sentence_pieces(std::string_view model, const fs::path& file);

}  // namespace mgpu::text
