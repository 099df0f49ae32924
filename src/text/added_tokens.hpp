#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json_node.hpp"
#include "normalizer.hpp"
#include "vocabulary.hpp"

namespace mgpu::text {

/// A token that AddedTokens searches for as a fixed text, before BpeModel encodes the rest of the
/// text. The token comes from tokenizer.json or from another tokenizer file of the folder.
struct AddedToken {
  std::string content;
  bool single_word = false;  // a match must not be next to a word character
  bool lstrip = false;       // a match includes the white space before it
  bool rstrip = false;       // a match includes the white space after it
  bool normalized = false;   // searched for in the normalized (true) or original (false) text
  bool special = false;      // Tokenizer::decode() can omit the token

  bool operator==(const AddedToken&) const = default;
};

/// Reads the list `added_tokens` of a tokenizer.json. Errors: E541 (malformed)
std::vector<AddedToken> read_added_tokens(const JsonNode& root);

/// Finds the first place in a text where one of several fixed texts occurs.
class TextFinder {
public:
  /// Adds `text`, the text of token `id`, to the texts that find() searches for. Returns false, and
  /// adds no text, if `text` is empty or was added before.
  bool add(std::string_view text, TokenId id);

  struct Found {
    std::size_t begin, end;
    TokenId id;
  };
  /// Returns the first match that begins at offset `start` or later. If several matches begin at
  /// the same offset, returns the longest.
  std::optional<Found> find(std::string_view text, std::size_t start) const;

private:
  using Edge = std::uint64_t;  // edge of a trie over bytes: 256 * number of start node + next byte
  static Edge edge(std::uint32_t node, char byte) {
    return Edge{node} << 8 | static_cast<unsigned char>(byte);
  }

  std::unordered_map<Edge, std::uint32_t> next_;
  std::vector<TokenId> ends_ = {kNoToken};  // [nodes] id of the text that ends at the node
  std::array<bool, 256> starts_{};          // whether a text starts with this byte
};

/// The added tokens of a tokenizer.
/// Source: tokenizers 0.23, tokenizer/added_vocabulary
class AddedTokens {
public:
  /// Part of a text: an added token with its id, or text between added tokens with id kNoToken.
  /// BpeModel encodes the text between added tokens.
  struct Part {
    std::size_t begin, end;
    TokenId id;
  };

  /// Adds tokens, except those without content. A token whose content is in the vocabulary has its
  /// id from the vocabulary. The id of each other token is the larger of two numbers: the number of
  /// tokens in the vocabulary, and the largest id of an earlier added token plus one. Tokens with
  /// the same content share an id. The shared token has the flags of the last of these tokens, but
  /// it is special if at least one of these tokens is special.
  /// Errors: std::invalid_argument when two different tokens with equal AddedToken::normalized are
  ///         searched for as the same text, or when the normalizer leaves nothing of a token's text
  AddedTokens(const std::vector<AddedToken>& tokens, const Vocabulary& vocabulary,
              const Normalizer* normalizer);

  /// Appends to `parts` the added tokens in the text and the text between them. Searches only for
  /// tokens whose AddedToken::normalized equals `normalized`.
  void cut(std::string_view text, bool normalized, std::vector<Part>& parts) const;

  /// Returns the id of the added token with this content; kNoToken if no added token has it.
  TokenId find(std::string_view content) const;
  const AddedToken* find(TokenId id) const;

  /// Returns the text that the decoder gets for an added token; nullptr for other ids.
  const std::string* decoded_text(TokenId id) const;
  bool is_special(TokenId id) const;
  TokenId end_id() const { return by_id_.empty() ? 0 : by_id_.rbegin()->first + 1; }

private:
  struct Entry {
    AddedToken token;
    std::string text;  // text to search for and to decode to; normalized if token.normalized
  };

  std::optional<Part> place(std::string_view text, const TextFinder::Found& found,
                            std::size_t covered) const;
  void add(const AddedToken& token, const Vocabulary& vocabulary);
  void make_searchable(const Normalizer* normalizer);

  std::map<TokenId, Entry> by_id_;
  std::map<std::string, TokenId, std::less<>> by_content_;
  std::set<std::string, std::less<>> special_contents_;
  TextFinder plain_, normalized_;
};

}  // namespace mgpu::text
