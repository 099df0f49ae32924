#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/text/tokenizer.hpp>

#include "json_node.hpp"

namespace mgpu::text {

constexpr TokenId kNoToken = -1;
constexpr TokenId kMaxTokenId = (1 << 24) - 1;

/// Maps token texts to ids and back. Ids may have gaps.
class Vocabulary {
public:
  /// Reads a JSON object that maps texts to ids. Errors: E541 if the object is malformed, or
  /// contains an id or text twice.
  explicit Vocabulary(const JsonNode& node);

  /// Returns the id of a token; kNoToken if there is no such token.
  TokenId find(std::string_view token) const;

  bool has(TokenId id) const {
    return id >= 0 && id < end_id() && spans_[static_cast<std::size_t>(id)].begin != kAbsent;
  }
  /// Returns the text of a token. The result of has(id) must be true.
  std::string_view text(TokenId id) const {
    const Span& span = spans_[static_cast<std::size_t>(id)];
    return std::string_view(texts_).substr(span.begin, span.bytes);
  }

  /// Returns the number of tokens.
  std::size_t size() const { return size_; }
  /// Returns the largest id plus one.
  TokenId end_id() const { return static_cast<TokenId>(spans_.size()); }

private:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  struct Span {
    std::uint32_t begin = kAbsent, bytes = 0;
  };

  std::size_t slot_of(std::string_view token) const;

  std::string texts_;           // all token texts, concatenated
  std::vector<Span> spans_;     // [id] position of each text in texts_
  std::vector<TokenId> slots_;  // hash table of ids, open addressing; the size is a power of two
  std::size_t size_ = 0;
};

/// Returns a hash of `bytes`. The hash function is similar to FNV, but processes eight bytes at a
/// time.
std::uint64_t hash_bytes(std::string_view bytes);

}  // namespace mgpu::text
