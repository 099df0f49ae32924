#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "vocabulary.hpp"

namespace mgpu::text {

/// A cache of short pieces of text that were encoded recently, with their tokens. The hash of a
/// piece selects the slot of the piece. A slot holds one piece, so a newer piece replaces an older
/// one. Only the constructor allocates memory.
class WordCache {
public:
  WordCache() : slots_(kSlots) {}

  /// Appends the tokens of a piece that is in the cache; returns false for any other piece.
  bool find(std::string_view piece, std::vector<TokenId>& ids) const {
    if (piece.size() > kMaxBytes) return false;
    const Slot& slot = slots_[hash_bytes(piece) % kSlots];
    if (slot.num_bytes != piece.size() ||
        std::memcmp(slot.bytes.data(), piece.data(), piece.size()) != 0) {
      return false;
    }
    ids.insert(ids.end(), slot.ids.begin(), slot.ids.begin() + slot.num_ids);
    return true;
  }

  /// Stores the tokens of a piece. Does nothing for pieces with too many bytes or tokens.
  void put(std::string_view piece, std::span<const TokenId> ids) {
    if (piece.size() > kMaxBytes || ids.size() > kMaxIds) return;
    Slot& slot = slots_[hash_bytes(piece) % kSlots];
    slot.num_bytes = static_cast<unsigned char>(piece.size());
    slot.num_ids = static_cast<unsigned char>(ids.size());
    std::memcpy(slot.bytes.data(), piece.data(), piece.size());
    std::copy(ids.begin(), ids.end(), slot.ids.begin());
  }

private:
  static constexpr std::size_t kSlots = std::size_t{1} << 14;
  static constexpr std::size_t kMaxBytes = 30, kMaxIds = 8;  // a slot has 64 bytes, a cache line

  struct Slot {
    unsigned char num_bytes = 0, num_ids = 0;  // pieces are never empty, so 0 bytes marks a free
                                               // slot
    std::array<char, kMaxBytes> bytes;
    std::array<TokenId, kMaxIds> ids;
  };

  std::vector<Slot> slots_;
};

}  // namespace mgpu::text
