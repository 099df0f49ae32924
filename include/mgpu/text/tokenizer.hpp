#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/file_io.hpp>

namespace mgpu::text {

using TokenId = std::int32_t;

struct TokenizerParts;

/// Converts texts to token ids and back, exactly as the Hugging Face tokenizers library 0.23.3 does
/// with the same tokenizer.json. Files that need an unsupported feature are refused.
///
/// The file's truncation and padding are ignored, as in transformers by default. Copies share all
/// data; any number of threads may use one object.
class Tokenizer {
public:
  /// Opens a tokenizer.json, and ignores the other files of its folder. Errors: Failure E603
  /// (missing), E622 (a Git LFS pointer), E541 (malformed), E542 (not supported)
  static Tokenizer open(const fs::path& tokenizer_json);

  /// Parses the content of a tokenizer.json; `name` replaces the path in messages.
  /// Errors: Failure E622 (a Git LFS pointer), E541 (malformed), E542 (not supported)
  static Tokenizer parse(std::string_view json, const fs::path& name = "tokenizer.json");

  /// Encodes a text. With `add_special_tokens`, adds the special tokens of the post-processor of
  /// tokenizer.json, such as <s>. For some values of `tokenizer_class`, the tokenizer of a
  /// TextFolder adds different special tokens instead, as transformers does.
  /// Errors: Failure E543 when the text is not UTF-8 (with the offset), or cannot be encoded
  std::vector<TokenId> encode(std::string_view text, bool add_special_tokens) const;

  /// Decodes all ids to valid UTF-8, with U+FFFD for bytes that form no character. Unknown ids add
  /// nothing.
  std::string decode(std::span<const TokenId> ids, bool skip_special_tokens) const;

  /// Returns the id of a token text; -1 if there is no such token.
  TokenId token_id(std::string_view token) const;

  /// Returns the text of a token as tokenizer.json writes it; "" for an unknown id.
  std::string token_text(TokenId id) const;

  /// Returns a single token in readable form: its decoded text, unless that text is empty or
  /// contains U+FFFD. In these two cases, returns the first form that applies:
  /// - "#7", if the id 7 is unknown or its token_text() is empty
  /// - token_text(), if it starts with "<0x", or contains a character that represents no byte in
  ///   the byte alphabet of GPT-2
  /// - the token's bytes, as in "<E2 80>"
  std::string shown_token(TokenId id) const;

  /// Returns the largest token id plus one.
  std::size_t vocab_size() const;

private:
  friend class StreamDecoder;
  friend struct TokenizerAccess;

  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const TokenizerParts> parts_;
};

struct StreamState;

/// Decodes a growing list of ids. Concatenated, the results of all calls of add() and finish()
/// equal Tokenizer::decode() of all ids. The function add() never splits a character, and holds
/// back text that a later token could still change.
class StreamDecoder {
public:
  StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens);
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  /// Adds an id. Returns the text that no later id can change and that no earlier call has
  /// returned; often "".
  std::string add(TokenId id);
  /// Returns the rest of the text, which add() has held back. No id may be added afterwards.
  std::string finish();

private:
  std::unique_ptr<StreamState> state_;
};

}  // namespace mgpu::text
