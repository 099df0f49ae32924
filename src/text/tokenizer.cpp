#include <algorithm>

#include <mgpu/base/utf8.hpp>
#include <mgpu/text/tokenizer.hpp>

#include "byte_alphabet.hpp"
#include "code_points.hpp"
#include "tokenizer_parts.hpp"

namespace mgpu::text {
namespace {

/// Returns make(node) for the member `key` of `root`; nullptr if this member is absent or null.
template <class Make>
auto make_optional(const JsonNode& root, std::string_view key, const Make& make)
    -> decltype(make(root)) {
  const auto node = root.find(key);
  return node ? make(*node) : nullptr;
}

TokenFrame read_frame(const JsonNode& root) {
  const auto node = root.find("post_processor");
  return node ? read_post_processor(*node) : TokenFrame{};
}

AddedTokens make_added(const JsonNode& root, const std::vector<AddedToken>& tokens,
                       const Vocabulary& vocabulary, const Normalizer* normalizer) {
  try {
    return {tokens, vocabulary, normalizer};
  } catch (const std::invalid_argument& error) {
    root.find("added_tokens").value_or(root).refuse(error.what());
  }
}

}  // namespace

void check_utf8(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return;
  throw Failure({"E543",
                 ExitCode::data,
                 "a text is not UTF-8, at byte " + std::to_string(find_bad_utf8(text)),
                 {},
                 ""});
}

void check_gap(std::string_view text, std::string_view gap) {
  if (gap.empty() || text.find(gap) == text.npos) return;
  throw Failure(
      {"E543",
       ExitCode::data,
       "a text asks with `" + std::string(gap) + "` to fill a gap, which is not supported",
       {},
       "write the tokens of prefix, suffix and middle yourself"});
}

TokenizerParts::TokenizerParts(const JsonNode& root)
    : TokenizerParts(root, root, read_added_tokens(root)) {}

TokenizerParts::TokenizerParts(const JsonNode& root, const JsonNode& parts,
                               const std::vector<AddedToken>& added_tokens)
    : normalizer(make_optional(parts, "normalizer", make_normalizer)),
      pre_tokenizer(make_optional(parts, "pre_tokenizer", make_pre_tokenizer)),
      model(root.at("model"), parts.at("model")),
      added(make_added(root, added_tokens, model.vocabulary(), normalizer.get())),
      frame(read_frame(root)),
      decoder(parts.find("decoder")) {}

void TokenizerParts::encode(std::string_view text, EncodeScratch& work,
                            std::vector<TokenId>& ids) const {
  work.plain_parts.clear();
  added.cut(text, false, work.plain_parts);
  for (const AddedTokens::Part& outer : work.plain_parts) {
    if (outer.id != kNoToken) {
      ids.push_back(outer.id);
      continue;
    }
    work.normalized.assign(text.substr(outer.begin, outer.end - outer.begin));
    if (normalizer) normalizer->apply(work.normalized);
    work.normalized_parts.clear();
    added.cut(work.normalized, true, work.normalized_parts);
    for (const AddedTokens::Part& inner : work.normalized_parts) {
      if (inner.id != kNoToken) {
        ids.push_back(inner.id);
        continue;
      }
      const std::string_view rest(work.normalized);
      work.pieces.assign(rest.substr(inner.begin, inner.end - inner.begin),
                         outer.begin == 0 && inner.begin == 0);
      if (pre_tokenizer) pre_tokenizer->apply(work.pieces);
      for (const Pieces::Piece& piece : work.pieces.pieces)
        model.encode(work.pieces.view(piece), work.model, ids);
    }
  }
}

bool TokenizerParts::decoded_text(TokenId id, std::string_view& text) const {
  if (const std::string* token = added.decoded_text(id)) {
    text = *token;
    return true;
  }
  if (!model.vocabulary().has(id)) return false;
  text = model.vocabulary().text(id);
  return true;
}

Tokenizer Tokenizer::open(const fs::path& tokenizer_json) {
  return Tokenizer(std::make_shared<TokenizerParts>(JsonFile(tokenizer_json).root()));
}

Tokenizer Tokenizer::parse(std::string_view json, const fs::path& name) {
  return Tokenizer(std::make_shared<TokenizerParts>(JsonFile(name, json).root()));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  check_utf8(text);
  check_gap(text, parts_->gap);
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3 + 8);
  if (add_special_tokens) ids = parts_->frame.before;
  auto scratch = parts_->scratch.take();
  parts_->encode(text, *scratch, ids);
  parts_->scratch.give_back(std::move(scratch));
  if (add_special_tokens)
    ids.insert(ids.end(), parts_->frame.after.begin(), parts_->frame.after.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special_tokens) const {
  StreamDecoder stream(*this, skip_special_tokens);
  std::string text;
  for (const TokenId id : ids)
    text += stream.add(id);
  return text + stream.finish();
}

TokenId Tokenizer::token_id(std::string_view token) const {
  const TokenId id = parts_->added.find(token);
  return id != kNoToken ? id : parts_->model.vocabulary().find(token);
}

std::string Tokenizer::token_text(TokenId id) const {
  if (const AddedToken* token = parts_->added.find(id)) return token->content;
  const Vocabulary& vocabulary = parts_->model.vocabulary();
  return vocabulary.has(id) ? std::string(vocabulary.text(id)) : std::string();
}

std::string Tokenizer::shown_token(TokenId id) const {
  constexpr std::string_view kNoCharacter = "\uFFFD";
  const std::string text = decode({&id, 1}, false);
  if (!text.empty() && text.find(kNoCharacter) == std::string::npos) return text;
  const std::string name = token_text(id);
  if (name.empty()) return "#" + std::to_string(id);
  std::string bytes;
  for (std::size_t at = 0; at < name.size(); at += character_bytes(name[at])) {
    const auto byte = ByteAlphabet::get().byte(character_at(name, at));
    if (!byte) return name;
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    if (!bytes.empty()) bytes += ' ';
    bytes += {kDigits[*byte / 16], kDigits[*byte % 16]};
  }
  // The text of a byte fallback token, such as <0x0A>, already shows the byte.
  return name.starts_with("<0x") ? name : '<' + bytes + '>';
}

std::size_t Tokenizer::vocab_size() const {
  return static_cast<std::size_t>(
      std::max(parts_->model.vocabulary().end_id(), parts_->added.end_id()));
}

}  // namespace mgpu::text
