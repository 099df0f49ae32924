#include "bpe_model.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include <mgpu/base/utf8.hpp>

#include "code_points.hpp"

namespace mgpu::text {
namespace {

constexpr std::size_t kShortPiece = 24;  // with more tokens, merging with a heap is faster

std::string_view text_or_empty(const JsonNode& node, std::string_view key) {
  const auto member = node.find(key);
  return member ? member->text() : std::string_view();
}

void refuse_other_models(const JsonNode& node) {
  if (const auto type = node.find("type"); type && type->text() != "BPE")
    type->unknown_choice("model", "BPE");
}

void refuse_options(const JsonNode& node) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!text_or_empty(node, key).empty()) node.at(key).not_supported(key);
  if (const auto dropout = node.find("dropout")) {
    double share = 0.0;
    if (dropout->value().get(share) != simdjson::SUCCESS) dropout->refuse("a number is needed");
    if (share > 0.0) dropout->not_supported("dropout");
  }
}

std::size_t length_of(const JsonNode& list) {
  simdjson::dom::array items;
  if (list.value().get(items) != simdjson::SUCCESS) list.refuse("a list is needed");
  std::size_t length = 0;  // simdjson's array::size() stops counting at 2^24
  for ([[maybe_unused]] const simdjson::dom::element item : items)
    ++length;
  return length;
}

[[noreturn]] void refuse_character(std::string_view character) {
  throw Failure({"E543",
                 ExitCode::data,
                 "`" + printable(character) +
                     "` has no token, and the tokenizer's unknown token is not in its vocabulary",
                 {},
                 ""});
}

struct TokenPair {
  std::string_view left, right;
};

/// Reads "left right" or ["left", "right"]; returns two empty texts for anything else.
TokenPair read_pair(simdjson::dom::element item) {
  TokenPair pair;
  std::string_view both;
  if (item.get(both) == simdjson::SUCCESS) {
    const std::size_t blank = both.find(' ');
    if (blank == both.npos || both.find(' ', blank + 1) != both.npos) return {};
    return {both.substr(0, blank), both.substr(blank + 1)};
  }
  simdjson::dom::array parts;
  if (item.get(parts) != simdjson::SUCCESS || parts.size() != 2) return {};
  if (parts.at(0).get(pair.left) != simdjson::SUCCESS) return {};
  if (parts.at(1).get(pair.right) != simdjson::SUCCESS) return {};
  return pair;
}

}  // namespace

BpeModel::BpeModel(const JsonNode& node, const JsonNode& options)
    : vocabulary_((refuse_other_models(node), refuse_options(options), node.at("vocab"))),
      merges_(length_of(node.at("merges"))),
      byte_fallback_(options.flag("byte_fallback", false)),
      fuse_unknown_(options.flag("fuse_unk", false)),
      ignore_merges_(options.flag("ignore_merges", false)) {
  read_merges(node.at("merges"));
  if (const auto unknown = options.find("unk_token")) {
    unknown_ = vocabulary_.find(unknown->text());
    unknown_missing_ = unknown_ == kNoToken;
  }
  for (std::size_t i = 0; i < ascii_.size(); ++i)
    ascii_[i] = vocabulary_.find(std::string(1, static_cast<char>(i)));
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    std::array<char, 8> name{};
    std::snprintf(name.data(), name.size(), "<0x%02X>", static_cast<unsigned>(i));
    bytes_[i] = vocabulary_.find(name.data());
  }
}

void BpeModel::read_merges(const JsonNode& list) {
  simdjson::dom::array items;
  if (list.value().get(items) != simdjson::SUCCESS) list.refuse("a list is needed");
  std::uint32_t rank = 0;
  std::string whole;
  for (const simdjson::dom::element item : items) {
    const auto refuse = [&](const std::string& why) {
      JsonNode(list.file(), item, list.place() + "[" + std::to_string(rank) + "]").refuse(why);
    };
    const auto id_of = [&](std::string_view token) {
      const TokenId id = vocabulary_.find(token);
      if (id == kNoToken) refuse("`" + printable(token) + "` is not in the vocabulary");
      return id;
    };
    const TokenPair pair = read_pair(item);
    if (pair.left.empty() || pair.right.empty()) refuse("two tokens are needed");
    whole.assign(pair.left).append(pair.right);
    merges_.put(id_of(pair.left), id_of(pair.right), {rank, id_of(whole)});
    ++rank;
  }
}

void BpeModel::encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const {
  if (ignore_merges_) {
    const TokenId whole = vocabulary_.find(piece);
    if (whole != kNoToken) return ids.push_back(whole);
  }
  if (scratch.cache.find(piece, ids)) return;
  start(piece, scratch);
  if (scratch.start.size() <= kShortPiece) {
    merge_short(scratch.start);
  } else {
    merge_long(scratch);
  }
  scratch.cache.put(piece, scratch.start);
  ids.insert(ids.end(), scratch.start.begin(), scratch.start.end());
}

void BpeModel::start(std::string_view piece, Scratch& scratch) const {
  std::vector<TokenId>& ids = scratch.start;
  ids.clear();
  // True if the unknown token of an earlier character must still be appended. As in the tokenizers
  // library, this unknown token comes after the byte tokens of later characters.
  bool unknown = false;
  for (std::size_t i = 0; i < piece.size();) {
    const std::string_view character = piece.substr(i, character_bytes(piece[i]));
    i += character.size();
    if (const TokenId id = find_character(character); id != kNoToken) {
      if (unknown) ids.push_back(unknown_);
      unknown = false;
      ids.push_back(id);
    } else if (!(byte_fallback_ && append_bytes(character, ids))) {
      if (unknown_missing_) refuse_character(character);
      if (unknown && !fuse_unknown_) ids.push_back(unknown_);
      unknown = unknown_ != kNoToken;
    }
  }
  if (unknown) ids.push_back(unknown_);
}

TokenId BpeModel::find_character(std::string_view character) const {
  return character.size() == 1 ? ascii_[static_cast<unsigned char>(character[0])]
                               : vocabulary_.find(character);
}

/// Appends the tokens of a character's bytes. Returns false if a byte has no token.
bool BpeModel::append_bytes(std::string_view character, std::vector<TokenId>& ids) const {
  const auto token = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
  if (std::any_of(character.begin(), character.end(),
                  [&](char byte) { return token(byte) == kNoToken; })) {
    return false;
  }
  for (const char byte : character)
    ids.push_back(token(byte));
  return true;
}

void BpeModel::merge_short(std::vector<TokenId>& ids) const {
  std::array<const Merge*, kShortPiece> merges{};  // the merge of each token with the next one
  const auto look = [&](std::size_t i) { merges[i] = merges_.find(ids[i], ids[i + 1]); };
  for (std::size_t i = 0; i + 1 < ids.size(); ++i)
    look(i);
  while (ids.size() > 1) {
    const std::size_t pairs = ids.size() - 1;
    std::size_t best = pairs;
    for (std::size_t i = 0; i < pairs; ++i) {
      if (merges[i] == nullptr) continue;
      if (best == pairs || merges[i]->rank < merges[best]->rank) best = i;
    }
    if (best == pairs) return;
    ids[best] = merges[best]->result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    std::copy(merges.begin() + best + 1, merges.begin() + pairs, merges.begin() + best);
    if (best > 0) look(best - 1);
    if (best + 1 < ids.size()) look(best);
  }
}

void BpeModel::push_candidate(Scratch& scratch, int left) const {
  const auto& symbols = scratch.symbols;
  const auto index = static_cast<std::size_t>(left);
  if (left < 0 || symbols[index].next < 0) return;
  const auto right = static_cast<std::size_t>(symbols[index].next);
  const Merge* merge = merges_.find(symbols[index].id, symbols[right].id);
  if (merge == nullptr) return;
  scratch.candidates.push_back({merge->rank, left, merge->result});
  std::push_heap(scratch.candidates.begin(), scratch.candidates.end(),
                 [](const auto& a, const auto& b) {
                   return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
                 });
}

/// Merges the tokens in scratch.start, with a linked list of symbols and a heap of possible merges.
/// This takes O(n log n) time for n tokens.
void BpeModel::merge_long(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& candidates = scratch.candidates;
  const int count = static_cast<int>(scratch.start.size());
  symbols.clear();
  candidates.clear();
  for (int i = 0; i < count; ++i) {
    symbols.push_back(
        {scratch.start[static_cast<std::size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
  }
  for (int i = 0; i < count; ++i)
    push_candidate(scratch, i);
  while (!candidates.empty()) {
    std::pop_heap(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
      return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
    });
    const Scratch::Candidate candidate = candidates.back();
    candidates.pop_back();
    auto& left = symbols[static_cast<std::size_t>(candidate.left)];
    if (left.id == kNoToken || left.next < 0) continue;
    auto& right = symbols[static_cast<std::size_t>(left.next)];
    const Merge* merge = merges_.find(left.id, right.id);
    if (merge == nullptr || merge->result != candidate.result) continue;  // outdated candidate
    left.id = candidate.result;
    left.next = right.next;
    right.id = kNoToken;
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = candidate.left;
    push_candidate(scratch, left.previous);
    push_candidate(scratch, candidate.left);
  }
  scratch.start.clear();
  for (int i = 0; i >= 0; i = symbols[static_cast<std::size_t>(i)].next)
    scratch.start.push_back(symbols[static_cast<std::size_t>(i)].id);
}

}  // namespace mgpu::text
