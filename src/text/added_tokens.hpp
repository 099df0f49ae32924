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

/// A token that is searched for in the text itself, before BpeModel processes the text.
struct AddedToken {
  std::string content;
  bool single_word = false;  // never found next to a word character
  bool lstrip = false;       // a match includes the white space before it
  bool rstrip = false;       // a match includes the white space after it
  bool normalized = false;   // true: searched for in the normalized text
  bool special = false;      // Tokenizer::decode() can omit the token

  bool operator==(const AddedToken&) const = default;
};

/// Reads the list `added_tokens` of a tokenizer.json. Errors: E541 (malformed)
std::vector<AddedToken> read_added_tokens(const JsonNode& root);

/// Searches a text for any of a set of texts.
class TextFinder {
public:
  /// Adds a text to search for. Returns false if the text is empty or was added before.
  bool add(std::string_view text, TokenId id);

  struct Found {
    std::size_t begin, end;
    TokenId id;
  };
  /// Finds the first match that begins at `start` or later. If several begin at the same place,
  /// returns the longest.
  std::optional<Found> find(std::string_view text, std::size_t start) const;

private:
  using Edge = std::uint64_t;  // 256 * number of a node + byte
  static Edge edge(std::uint32_t node, char byte) {
    return Edge{node} << 8 | static_cast<unsigned char>(byte);
  }

  std::unordered_map<Edge, std::uint32_t> next_;
  std::vector<TokenId> ends_ = {kNoToken};  // [nodes] id of the text that ends at the node
  std::array<bool, 256> starts_{};
};

/// The added tokens of a tokenizer.
/// Source: tokenizers 0.23, tokenizer/added_vocabulary
class AddedTokens {
public:
  /// Part of a text: an added token with its id, or other text with id kNoToken, which BpeModel
  /// encodes.
  struct Part {
    std::size_t begin, end;
    TokenId id;
  };

  /// Adds tokens. A token whose content is in the vocabulary has its id there; other tokens get ids
  /// after those of the vocabulary. Two tokens with the same content share an id. The flags of the
  /// later token count, but the token is special if one of the two is.
  /// Errors: std::invalid_argument when two different tokens are searched for as the same text
  AddedTokens(const std::vector<AddedToken>& tokens, const Vocabulary& vocabulary,
              const Normalizer* normalizer);

  /// Appends parts that together cover the text. Searches only for tokens whose
  /// AddedToken::normalized equals `normalized`.
  void cut(std::string_view text, bool normalized, std::vector<Part>& parts) const;

  /// Returns the id of the added token with this content; kNoToken if no added token has it.
  TokenId find(std::string_view content) const;
  const AddedToken* find(TokenId id) const;

  /// Returns the text to which an added token is decoded; nullptr for other ids.
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
