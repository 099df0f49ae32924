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

/// The tokens that the files of a model folder name in addition to the vocabulary.
/// Source: transformers 5.23, tokenization_utils_base.py (_from_pretrained, __init__)
class SpecialTokens {
public:
  /// Reads the tokens that the files of a folder name, and takes the default tokens of the class
  /// `kind` for roles that no file names. The tokens of a tokenizer.model, `pieces`, count only if
  /// the JSON files name no extra tokens. Errors: E541 (malformed), E542 (not supported)
  SpecialTokens(const TextDocuments& documents, TokenizerClass kind,
                const std::vector<AddedToken>* pieces = nullptr);

  /// Returns the text of the token with a role (bos_token, ...); "" if no token has it.
  const std::string& text(std::string_view role) const;

  /// Returns the text of each token that has a role (bos_token, ...), by role.
  std::map<std::string, std::string> by_role() const;

  /// Returns the tokens that transformers' tokenizer class adds to a tokenizer that has the tokens
  /// `known`, in the order in which the class adds them.
  std::vector<AddedToken> additions(const std::vector<AddedToken>& known) const;

  /// Returns the texts of all tokens that have a role, and of the extra special tokens. Some texts
  /// may occur twice.
  std::vector<std::string> texts() const;

private:
  struct Named {
    std::string role;
    AddedToken token;
    bool is_given = true;  // true: a file names the token; false: default of the class
  };
  struct Listed {
    AddedToken token;
    bool says_normalized;
  };

  void read_listed(const JsonNode& list);
  void read_older_listed(const TextDocuments& documents);
  void read_roles(const JsonNode& node, bool is_map);
  void read_other_roles(const JsonNode& node, bool is_map, bool texts);
  void read_extra(const JsonNode& node, std::string_view key);
  void add_pieces(const std::vector<AddedToken>* pieces);
  bool is_role(std::string_view text) const;
  bool is_of_class(std::string_view role) const;

  std::map<TokenId, Listed> listed_;
  std::vector<Named> named_;     // the roles of the class first
  std::size_t class_roles_ = 0;  // number of roles that the class has
  std::vector<AddedToken> extra_;
};

}  // namespace mgpu::text
