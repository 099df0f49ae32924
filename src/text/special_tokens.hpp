#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "added_tokens.hpp"
#include "tokenizer_class.hpp"

namespace mgpu::text {

/// The parsed files tokenizer.json, tokenizer_config.json (`settings`), special_tokens_map.json and
/// added_tokens.json of a model folder. A missing file is an empty object.
struct TextDocuments {
  JsonNode tokenizer, settings, special_tokens_map, added_tokens;
};

/// The special tokens and other added tokens that the files of a model folder name.
/// Source: transformers 5.23, tokenization_utils_base.py (_from_pretrained, __init__)
class SpecialTokens {
public:
  /// Reads the tokens from the files of a folder. For a role (bos_token, ...) that no file has,
  /// takes the default token of the class `kind`. Other tokens that the files name without a role
  /// and without an id are called extra tokens. `pieces`: the control tokens and user-defined
  /// symbols of a tokenizer.model; nullptr for a folder with tokenizer.json. The tokens in `pieces`
  /// become the extra tokens if the JSON files name no extra tokens.
  /// Errors: E541 (malformed)
  SpecialTokens(const TextDocuments& documents, TokenizerClass kind,
                const std::vector<AddedToken>* pieces = nullptr);

  /// Returns the text of the token with a role (bos_token, ...); "" if no token has the role.
  const std::string& text(std::string_view role) const;

  /// Returns a map from each role that has a token (bos_token, ...) to the text of the token.
  std::map<std::string, std::string> by_role() const;

  /// Returns the tokens that the tokenizer class of transformers adds to a tokenizer that already
  /// has the added tokens `known`. The order is the order in which the class adds the tokens.
  std::vector<AddedToken> additions(const std::vector<AddedToken>& known) const;

  /// Returns the texts of all tokens that have a role, and of all extra tokens. A text may occur
  /// more than once.
  std::vector<std::string> texts() const;

private:
  struct Named {
    std::string role;
    AddedToken token;
    bool is_given = true;  // true: a file has the role as a member; false: default
  };
  struct Listed {
    AddedToken token;
    bool says_normalized;  // false: added_tokens_decoder lacks the flag `normalized` of the token,
                           // so token.normalized has its default
  };

  void read_listed(const JsonNode& list);
  void read_older_listed(const TextDocuments& documents);
  void read_roles(const JsonNode& node, bool is_map);
  void read_other_roles(const JsonNode& node, bool is_map, bool texts);
  void read_extra(const JsonNode& node, std::string_view key);
  void add_pieces(const std::vector<AddedToken>* pieces);
  bool is_role(std::string_view text) const;
  bool is_of_class(std::string_view role) const;

  std::map<TokenId, Listed> listed_;  // tokens that a file lists with their ids
  std::vector<Named> named_;          // tokens with a role; the roles of the class come first
  std::size_t class_roles_ = 0;       // number of roles that the class has
  std::vector<AddedToken> extra_;     // extra tokens, which have no role
};

}  // namespace mgpu::text
