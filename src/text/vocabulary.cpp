#include "vocabulary.hpp"

#include <bit>
#include <cstring>

#include <mgpu/base/utf8.hpp>

namespace mgpu::text {

std::uint64_t hash_bytes(std::string_view bytes) {
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  std::uint64_t hash = bytes.size() * kFactor;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * kFactor;
    hash ^= hash >> 32;
  };
  std::uint64_t word = 0;
  for (; bytes.size() >= sizeof word; bytes.remove_prefix(sizeof word)) {
    std::memcpy(&word, bytes.data(), sizeof word);
    mix(word);
  }
  word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  mix(word);
  return hash;
}

Vocabulary::Vocabulary(const JsonNode& node) {
  simdjson::dom::object tokens;
  if (node.value().get(tokens) != simdjson::SUCCESS) node.refuse("an object is needed");
  for (const auto [token, value] : tokens) {
    std::uint64_t id = 0;
    if (value.get(id) != simdjson::SUCCESS || id > kMaxTokenId) {
      node.refuse("the id of `" + printable(token) + "` is not a whole number from 0 to " +
                  std::to_string(kMaxTokenId));
    }
    if (id >= spans_.size()) spans_.resize(id + 1);
    if (spans_[id].begin != kAbsent) node.refuse("id " + std::to_string(id) + " comes twice");
    spans_[id] = {static_cast<std::uint32_t>(texts_.size()),
                  static_cast<std::uint32_t>(token.size())};
    texts_ += token;
    ++size_;
  }
  slots_.assign(std::bit_ceil(2 * size_ + 2), kNoToken);
  for (TokenId id = 0; id < end_id(); ++id) {
    if (!has(id)) continue;
    TokenId& slot = slots_[slot_of(text(id))];
    if (slot != kNoToken) node.refuse("`" + printable(text(id)) + "` comes twice");
    slot = id;
  }
}

std::size_t Vocabulary::slot_of(std::string_view token) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_bytes(token) & mask;
  while (slots_[slot] != kNoToken && text(slots_[slot]) != token)
    slot = (slot + 1) & mask;
  return slot;
}

TokenId Vocabulary::find(std::string_view token) const {
  return slots_[slot_of(token)];
}

}  // namespace mgpu::text
