#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <mgpu/text/tokenizer.hpp>

namespace mgpu::text {

/// A merge of two neighboring tokens in BPE.
struct Merge {
  std::uint32_t rank;  // the merge with the lowest rank is applied first
  TokenId result;      // the merged token
};

/// A hash table from pairs of tokens to their merges, with open addressing. The number of slots is
/// a power of two, and at least half of the slots are free.
class MergeTable {
public:
  explicit MergeTable(std::size_t size) : slots_(std::bit_ceil(2 * size + 2)) {}

  /// Adds the merge of a pair of tokens, or replaces an earlier merge of the same pair. The table
  /// can hold at most `size` pairs, where `size` is the constructor's argument.
  void put(TokenId left, TokenId right, Merge merge) {
    const std::uint64_t key = key_of(left, right);
    slots_[slot_of(key)] = {key, merge};
  }

  /// Returns the merge of two tokens; nullptr if the table has no such merge.
  const Merge* find(TokenId left, TokenId right) const {
    const std::uint64_t key = key_of(left, right);
    const Slot& slot = slots_[slot_of(key)];
    return slot.key == key ? &slot.merge : nullptr;
  }

private:
  static constexpr std::uint64_t kFree = UINT64_MAX;

  struct Slot {
    std::uint64_t key = kFree;
    Merge merge{};
  };

  static std::uint64_t key_of(TokenId left, TokenId right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }

  std::size_t slot_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = (key * 0x9E3779B97F4A7C15) >> 32 & mask;
    while (slots_[slot].key != kFree && slots_[slot].key != key)
      slot = (slot + 1) & mask;
    return slot;
  }

  std::vector<Slot> slots_;
};

}  // namespace mgpu::text
