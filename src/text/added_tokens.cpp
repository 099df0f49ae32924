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

bool word_behind(std::string_view text, std::size_t offset) {
  return offset < text.size() && is_word(character_at(text, offset));
}

}  // namespace

AddedTokens::AddedTokens(const JsonNode& root, const Vocabulary& vocabulary,
                         const Normalizer* normalizer) {
  const auto list = root.find("added_tokens");
  if (!list) return;
  for (const JsonNode& node : list->items()) {
    try {
      add(read_token(node), vocabulary, normalizer);
    } catch (const std::invalid_argument& error) {
      node.refuse(error.what());
    }
  }
}

TokenId AddedTokens::new_id(const Vocabulary& vocabulary) const {
  return std::max(static_cast<TokenId>(vocabulary.size()), end_id());
}

void AddedTokens::add(const AddedToken& token, const Vocabulary& vocabulary,
                      const Normalizer* normalizer) {
  if (token.content.empty()) return;
  TokenId id = find(token.content);
  if (id != kNoToken && by_id_.at(id).token == token) return;
  if (id == kNoToken) id = vocabulary.find(token.content);
  if (id == kNoToken) id = new_id(vocabulary);
  Entry entry{token, token.content};
  if (token.normalized && normalizer != nullptr) normalizer->apply(entry.text);
  if (!(token.normalized ? normalized_ : plain_).add(entry.text, id)) {
    throw std::invalid_argument("two tokens are looked for as `" + printable(entry.text) + "`");
  }
  by_content_[token.content] = id;
  if (token.special) special_contents_.insert(token.content);
  by_id_.insert_or_assign(id, std::move(entry));
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

/// What a found token takes; nothing when it may not stand there.
std::optional<AddedTokens::Part> AddedTokens::place(std::string_view text,
                                                    const TextFinder::Found& found,
                                                    std::size_t covered) const {
  const AddedToken& token = by_id_.at(found.id).token;
  Part part{found.begin, found.end, found.id};
  if (token.single_word && (word_before(text, part.begin) || word_behind(text, part.end)))
    return {};
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
