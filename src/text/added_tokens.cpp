#include "added_tokens.hpp"

#include <algorithm>

#include <mgpu/base/utf8.hpp>

#include "code_points.hpp"

namespace mgpu::text {
namespace {

AddedToken read_token(const JsonNode& node) {
  AddedToken token;
  token.content = node.at("content").text();
  token.single_word = node.at("single_word").flag();
  token.lstrip = node.at("lstrip").flag();
  token.rstrip = node.at("rstrip").flag();
  token.normalized = node.at("normalized").flag();
  token.special = node.at("special").flag();
  return token;
}

bool word_before(std::string_view text, std::size_t offset) {
  return offset > 0 && is_word(character_at(text, previous_character(text, offset)));
}

bool word_after(std::string_view text, std::size_t offset) {
  return offset < text.size() && is_word(character_at(text, offset));
}

}  // namespace

std::vector<AddedToken> read_added_tokens(const JsonNode& root) {
  std::vector<AddedToken> tokens;
  if (const auto list = root.find("added_tokens")) {
    for (const JsonNode& node : list->items())
      tokens.push_back(read_token(node));
  }
  return tokens;
}

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, const Vocabulary& vocabulary,
                         const Normalizer* normalizer) {
  for (const AddedToken& token : tokens)
    add(token, vocabulary);
  make_searchable(normalizer);
}

void AddedTokens::add(const AddedToken& token, const Vocabulary& vocabulary) {
  if (token.content.empty()) return;
  TokenId id = find(token.content);
  if (id == kNoToken) id = vocabulary.find(token.content);
  if (id == kNoToken) id = std::max(static_cast<TokenId>(vocabulary.size()), end_id());
  by_content_[token.content] = id;
  if (token.special) special_contents_.insert(token.content);
  by_id_.insert_or_assign(id, Entry{token, token.content});
}

void AddedTokens::make_searchable(const Normalizer* normalizer) {
  for (auto& [id, entry] : by_id_) {
    const bool normalized = entry.token.normalized;
    if (normalized && normalizer != nullptr) normalizer->apply(entry.text);
    if (!(normalized ? normalized_ : plain_).add(entry.text, id)) {
      throw std::invalid_argument("two tokens are looked for as `" + printable(entry.text) + "`");
    }
  }
}

TokenId AddedTokens::find(std::string_view content) const {
  const auto found = by_content_.find(content);
  return found == by_content_.end() ? kNoToken : found->second;
}

const AddedToken* AddedTokens::find(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second.token;
}

const std::string* AddedTokens::decoded_text(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second.text;
}

bool AddedTokens::is_special(TokenId id) const {
  const std::string* text = decoded_text(id);
  return text != nullptr && special_contents_.contains(*text);
}

void AddedTokens::cut(std::string_view text, bool normalized, std::vector<Part>& parts) const {
  const TextFinder& finder = normalized ? normalized_ : plain_;
  std::size_t covered = 0;
  std::size_t start = 0;
  while (const auto found = finder.find(text, start)) {
    start = found->end;
    const std::optional<Part> part = place(text, *found, covered);
    if (!part) continue;
    if (part->begin > covered) parts.push_back({covered, part->begin, kNoToken});
    parts.push_back(*part);
    covered = part->end;
  }
  if (covered < text.size()) parts.push_back({covered, text.size(), kNoToken});
}

/// Returns the part of the text that the match `found` covers, including white space for `lstrip`
/// and `rstrip`. White space before offset `covered`, the end of the previous match, is not
/// included. Returns nullopt if `single_word` forbids the match.
std::optional<AddedTokens::Part> AddedTokens::place(std::string_view text,
                                                    const TextFinder::Found& found,
                                                    std::size_t covered) const {
  const AddedToken& token = by_id_.at(found.id).token;
  Part part{found.begin, found.end, found.id};
  if (token.single_word && (word_before(text, part.begin) || word_after(text, part.end))) return {};
  while (token.lstrip && part.begin > covered) {
    const std::size_t before = previous_character(text, part.begin);
    if (!is_whitespace(character_at(text, before))) break;
    part.begin = before;
  }
  while (token.rstrip && part.end < text.size() && is_whitespace(character_at(text, part.end)))
    part.end += character_bytes(text[part.end]);
  return part;
}

}  // namespace mgpu::text
