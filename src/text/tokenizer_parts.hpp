#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "added_tokens.hpp"
#include "bpe_model.hpp"
#include "decoder.hpp"
#include "json_node.hpp"
#include "normalizer.hpp"
#include "post_processor.hpp"
#include "pre_tokenizer.hpp"

namespace mgpu::text {

/// The buffers of TokenizerParts::encode(). Later calls of encode() reuse the buffers.
struct EncodeScratch {
  BpeModel::Scratch model;
  Pieces pieces;
  std::string normalized;
  std::vector<AddedTokens::Part> plain_parts, normalized_parts;
};

/// Keeps one EncodeScratch for reuse. If several threads call take() at the same time, one thread
/// gets the kept object, and each other thread gets a new object.
class ScratchStore {
public:
  ScratchStore() = default;
  ScratchStore(const ScratchStore&) = delete;
  ScratchStore& operator=(const ScratchStore&) = delete;
  ~ScratchStore() { delete spare_.load(); }

  std::unique_ptr<EncodeScratch> take() const {
    std::unique_ptr<EncodeScratch> spare(spare_.exchange(nullptr));
    return spare ? std::move(spare) : std::make_unique<EncodeScratch>();
  }
  void give_back(std::unique_ptr<EncodeScratch> scratch) const {
    delete spare_.exchange(scratch.release());
  }

private:
  mutable std::atomic<EncodeScratch*> spare_ = nullptr;
};

/// All parts of a tokenizer. The function encode() does not add the tokens of `frame`. It applies
/// these parts, in this order:
/// - `added`, for tokens whose AddedToken::normalized is false
/// - `normalizer`
/// - `added`, for the other tokens
/// - `pre_tokenizer`
/// - `model`
struct TokenizerParts {
  explicit TokenizerParts(const JsonNode& root);

  /// Reads the vocabulary, the merges and the post-processor from `root`. Makes `added` from
  /// `added_tokens`, and reads all other parts from `parts`. The nodes `root` and `parts` have the
  /// form of a tokenizer.json.
  TokenizerParts(const JsonNode& root, const JsonNode& parts,
                 const std::vector<AddedToken>& added_tokens);

  /// Appends the tokens of a text to `ids`.
  void encode(std::string_view text, EncodeScratch& scratch, std::vector<TokenId>& ids) const;
  /// Sets `text` to the text that the decoder gets for a token. Returns false for an unknown id.
  bool decoded_text(TokenId id, std::string_view& text) const;

  std::unique_ptr<const Normalizer> normalizer;       // may be nullptr
  std::unique_ptr<const PreTokenizer> pre_tokenizer;  // may be nullptr
  BpeModel model;
  AddedTokens added;
  TokenFrame frame;
  std::string gap;  // CodeLlama's fill_token; texts with this token are refused; "": no such token
  Decoder decoder;
  ScratchStore scratch;
};

/// Throws Failure E543, with the offset, if a text is not UTF-8.
void check_utf8(std::string_view text);

/// Throws Failure E543 if `text` contains `gap`, the text of CodeLlama's fill_token. This token
/// marks a gap that the model should fill, which is not supported. Does nothing if `gap` is "".
void check_gap(std::string_view text, std::string_view gap);

/// Makes a Tokenizer from its parts. The function parse_text_folder() uses this struct, because it
/// reads the parts from several files.
struct TokenizerAccess {
  static Tokenizer make(std::shared_ptr<const TokenizerParts> parts) {
    return Tokenizer(std::move(parts));
  }
};

}  // namespace mgpu::text
