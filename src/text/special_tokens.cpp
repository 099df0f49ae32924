#include "special_tokens.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace mgpu::text {
namespace {

constexpr std::array<std::string_view, 7> kRoles = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

AddedToken special_token(std::string_view text) {
  AddedToken token;
  token.content = text;
  token.special = true;
  return token;
}

/// Reads a token with its flags from an object, as AddedToken(**node) does in Python. If `special`
/// is true, the token is special even if the object's member `special` is false.
AddedToken flagged_token(const JsonNode& node, bool special) {
  AddedToken token;
  token.content = node.at("content").text();
  token.special = special || node.flag("special", false);
  token.single_word = node.flag("single_word", false);
  token.lstrip = node.flag("lstrip", false);
  token.rstrip = node.flag("rstrip", false);
  token.normalized = node.flag("normalized", !token.special);
  return token;
}

/// Reads a token from a text or an object:
/// - A text is a special token.
/// - An object of special_tokens_map.json (`is_map`) is a special token with flags.
/// - An object of another file must have the member `__type` with the value AddedToken. Its token
///   is special if the argument or the object's member `special` is true.
AddedToken named_token(const JsonNode& node, bool is_map, bool special = true) {
  if (node.is_text()) return special_token(node.text());
  if (is_map) return flagged_token(node, true);
  const auto type = node.is_object() ? node.find("__type") : std::nullopt;
  if (!type || type->text() != "AddedToken") node.refuse("a token is needed");
  return flagged_token(node, special);
}

bool is_standard(std::string_view role) {
  return std::ranges::find(kRoles, role) != kRoles.end();
}

TokenId id_of_key(const JsonNode& node, std::string_view key) {
  TokenId id = -1;
  const char* end = key.data() + key.size();
  const auto [stop, error] = std::from_chars(key.data(), end, id);
  if (error != std::errc() || stop != end || id < 0 || id > kMaxTokenId)
    node.refuse("its key is no token id");
  return id;
}

}  // namespace

SpecialTokens::SpecialTokens(const TextDocuments& documents, TokenizerClass kind,
                             const std::vector<AddedToken>* pieces) {
  const auto listed = documents.settings.find("added_tokens_decoder");
  for (const std::string_view role : kRoles) {
    const std::string_view text = standard_token(kind, role);
    named_.push_back({std::string(role), special_token(text), false});
  }
  for (const std::string_view role : own_roles(kind))
    named_.push_back({std::string(role), special_token(standard_token(kind, role)), false});
  class_roles_ = named_.size();
  if (const auto padding = documents.tokenizer.find("padding"))
    named_[4].token = special_token(padding->at("pad_token").text());
  read_roles(documents.settings, false);
  if (listed) {
    read_listed(*listed);
    read_other_roles(documents.settings, false, false);
    read_other_roles(documents.settings, false, true);
    read_extra(documents.settings, "extra_special_tokens");
    read_extra(documents.settings, "additional_special_tokens");
    add_pieces(pieces);
    return;
  }
  read_roles(documents.special_tokens_map, true);
  read_other_roles(documents.settings, false, false);
  read_other_roles(documents.special_tokens_map, true, false);
  read_other_roles(documents.special_tokens_map, true, true);
  read_other_roles(documents.settings, false, true);
  read_extra(documents.settings, "extra_special_tokens");
  read_extra(documents.settings, "additional_special_tokens");
  read_extra(documents.special_tokens_map, "extra_special_tokens");
  read_older_listed(documents);
  if (pieces == nullptr) read_extra(documents.special_tokens_map, "additional_special_tokens");
  add_pieces(pieces);
}

void SpecialTokens::read_listed(const JsonNode& list) {
  for (const auto& [key, node] : list.members())
    listed_.insert_or_assign(id_of_key(node, key),
                             Listed{flagged_token(node, false), node.has("normalized")});
}

void SpecialTokens::read_older_listed(const TextDocuments& documents) {
  const auto is_named = [&](std::string_view text) {
    const auto names = [&](const Named& named) {
      return named.is_given && is_standard(named.role) && named.token.content == text;
    };
    return std::ranges::any_of(named_, names) ||
           std::ranges::find(extra_, text, &AddedToken::content) != extra_.end();
  };
  for (const auto& [text, node] : documents.added_tokens.members()) {
    const auto id = static_cast<TokenId>(node.integer(0, kMaxTokenId));
    AddedToken token = special_token(text);
    token.special = is_named(text);
    token.normalized = !token.special;
    listed_.insert_or_assign(id, Listed{token, true});
  }
  if (const auto list = documents.tokenizer.find("added_tokens")) {
    for (const JsonNode& node : list->items()) {
      const auto id = static_cast<TokenId>(node.at("id").integer(0, kMaxTokenId));
      listed_.insert_or_assign(id, Listed{flagged_token(node, false), true});
    }
  }
}

void SpecialTokens::read_roles(const JsonNode& node, bool is_map) {
  for (Named& named : named_) {
    if (!node.has(named.role)) continue;
    const auto value = node.find(named.role);
    named.token = value ? named_token(*value, is_map) : AddedToken{};
    named.is_given = true;
  }
}

bool SpecialTokens::is_of_class(std::string_view role) const {
  const auto end = named_.begin() + static_cast<std::ptrdiff_t>(class_roles_);
  return std::find_if(named_.begin(), end, [&](const Named& n) { return n.role == role; }) != end;
}

/// Reads the members whose names end in `_token` and are not roles of the tokenizer class, such as
/// image_token. If `texts` is true, reads only members that are texts, else only objects.
void SpecialTokens::read_other_roles(const JsonNode& node, bool is_map, bool texts) {
  for (const auto& [role, value] : node.members()) {
    if (!role.ends_with("_token") || is_of_class(role)) continue;
    if (texts ? value.is_text() : value.is_object())
      named_.push_back({std::string(role), named_token(value, is_map)});
  }
}

/// Reads the member `key`, which is a list of extra tokens (tokens without a role), or an object
/// that maps roles to tokens. Does nothing if the member is absent or null, or if an earlier call
/// has already read extra tokens.
void SpecialTokens::read_extra(const JsonNode& node, std::string_view key) {
  const auto list = node.find(key);
  if (!list || !extra_.empty()) return;
  if (list->is_object()) {
    for (const auto& [role, value] : list->members())
      named_.push_back({std::string(role), named_token(value, false)});
    return;
  }
  for (const JsonNode& item : list->items())
    extra_.push_back(named_token(item, false, false));
}

void SpecialTokens::add_pieces(const std::vector<AddedToken>* pieces) {
  if (pieces != nullptr && extra_.empty()) extra_ = *pieces;
}

bool SpecialTokens::is_role(std::string_view text) const {
  return std::ranges::any_of(named_, [&](const Named& n) { return n.token.content == text; });
}

const std::string& SpecialTokens::text(std::string_view role) const {
  static const std::string kNone;
  const auto found = std::ranges::find(named_, role, &Named::role);
  return found == named_.end() ? kNone : found->token.content;
}

std::map<std::string, std::string> SpecialTokens::by_role() const {
  std::map<std::string, std::string> texts;
  for (const Named& named : named_)
    if (!named.token.content.empty()) texts[named.role] = named.token.content;
  return texts;
}

std::vector<AddedToken> SpecialTokens::additions(const std::vector<AddedToken>& known) const {
  std::vector<AddedToken> tokens;
  for (const auto& [id, listed] : listed_) {
    if (std::ranges::find(known, listed.token) != known.end()) continue;
    AddedToken& token = tokens.emplace_back(listed.token);
    if (token.special || !is_role(token.content)) continue;
    token.special = true;
    token.normalized = listed.says_normalized && token.normalized;
  }
  const auto add = [&](const AddedToken& token) {
    const auto has = [&](const std::vector<AddedToken>& list) {
      return std::ranges::find(list, token.content, &AddedToken::content) != list.end();
    };
    if (!token.content.empty() && !has(known) && !has(tokens)) tokens.push_back(token);
  };
  const auto num_listed = static_cast<std::ptrdiff_t>(tokens.size());
  for (const Named& named : named_)
    add(named.token);
  for (const AddedToken& token : extra_) {
    // An extra token replaces a token of a role with the same text, so the extra token's flags
    // apply.
    const auto same =
        std::find_if(tokens.begin() + num_listed, tokens.end(),
                     [&](const AddedToken& other) { return other.content == token.content; });
    if (same != tokens.end())
      *same = token;
    else
      add(token);
  }
  return tokens;
}

std::vector<std::string> SpecialTokens::texts() const {
  std::vector<std::string> texts;
  for (const Named& named : named_)
    if (!named.token.content.empty()) texts.push_back(named.token.content);
  for (const AddedToken& token : extra_)
    texts.push_back(token.content);
  return texts;
}

}  // namespace mgpu::text
