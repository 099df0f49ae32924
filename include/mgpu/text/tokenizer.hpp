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

/// Texts to token ids and back, as the Hugging Face tokenizers library 0.23.3 does it from the
/// same tokenizer.json. What the file asks for and the program does not do is refused.
///
/// Truncation and padding of the file are left out, as transformers does unless asked.
/// Copies share everything; any number of threads may use one.
class Tokenizer {
public:
  /// The file's own rules. Errors: Failure E603 (missing), E541 (malformed), E542 (not supported)
  static Tokenizer open(const fs::path& tokenizer_json);

  /// The same from a text; `name` stands for it in messages.
  static Tokenizer parse(std::string_view json, const fs::path& name = "tokenizer.json");

  /// With `add_special_tokens`, the file's template puts its tokens (<s>, ...) around.
  /// Errors: Failure E543 when the text is not UTF-8, with the offset
  std::vector<TokenId> encode(std::string_view text, bool add_special_tokens) const;

  /// The text of all ids together; valid UTF-8, with U+FFFD for bytes that form no character.
  /// Ids without a token add nothing.
  std::string decode(std::span<const TokenId> ids, bool skip_special_tokens) const;

  /// -1 when no token has this text.
  TokenId token_id(std::string_view token) const;

  /// What a token is called in the file; "" when there is no such id.
  std::string token_text(TokenId id) const;

  /// A token by itself as a person can read it: its text; "<E2 80>" where it is bytes that form no
  /// character; "#7" when there is no such id.
  std::string shown_token(TokenId id) const;

  /// One more than the largest id.
  std::size_t vocab_size() const;

private:
  friend class StreamDecoder;
  friend struct TokenizerAccess;

  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const TokenizerParts> parts_;
};

struct StreamState;

/// Decodes a growing list of ids: what add() and finish() return, joined, is what decode() makes
/// of all ids. No character is ever split; text that a later token could still change waits.
class StreamDecoder {
public:
  StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens);
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  /// The text that is certain now and was not before; often "".
  std::string add(TokenId id);
  /// What is left. After it, nothing may be added.
  std::string finish();

private:
  std::unique_ptr<StreamState> state_;
};

}  // namespace mgpu::text
