#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace mgpu::text {

/// Random integers that depend on a text's number and the count of previous draws.
class Draws {
public:
  explicit Draws(std::uint64_t number) : counter_(number << 20) {}

  std::uint64_t below(std::uint64_t n) {
    return (mix(++counter_ * 0x9E3779B97F4A7C15) >> 32) * n >> 32;
  }

private:
  /// Applies the finalizer of splitmix64.
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

  std::uint64_t counter_;
};

inline std::string utf8_of(std::uint64_t character) {
  const auto byte = [&](unsigned shift, unsigned mark, unsigned mask) {
    return static_cast<char>(mark | (character >> shift & mask));
  };
  if (character < 0x80) return {byte(0, 0, 0x7F)};
  if (character < 0x800) return {byte(6, 0xC0, 0x1F), byte(0, 0x80, 0x3F)};
  if (character < 0x10000) return {byte(12, 0xE0, 0x0F), byte(6, 0x80, 0x3F), byte(0, 0x80, 0x3F)};
  return {byte(18, 0xF0, 0x07), byte(12, 0x80, 0x3F), byte(6, 0x80, 0x3F), byte(0, 0x80, 0x3F)};
}

/// Makes the same texts as tests/oracle/hard_texts.py. `path` is hard_texts.json, which has their
/// parts.
inline std::vector<std::string> make_hard_texts(const std::string& path) {
  constexpr std::size_t kCount = 12'000;
  const auto made_of = nlohmann::json::parse(std::ifstream(path));
  std::vector<std::string> texts = made_of["texts"];
  const std::vector<std::string> fragments = made_of["fragments"];
  const std::vector<std::vector<std::uint64_t>> ranges = made_of["ranges"];
  while (texts.size() < kCount) {
    Draws draws(texts.size());
    std::string text;
    for (std::uint64_t left = 1 + draws.below(40); left > 0; --left) {
      const std::uint64_t kind = draws.below(100);
      if (kind < 30) {
        text += fragments[draws.below(fragments.size())];
      } else if (kind < 60) {
        text += utf8_of(32 + draws.below(95));
      } else {
        const auto& range = ranges[draws.below(ranges.size())];
        text += utf8_of(range[0] + draws.below(range[1] - range[0] + 1));
      }
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

/// Makes up to 24 ids, a few of which have no token.
inline std::vector<std::int32_t> make_hard_ids(std::uint64_t number, std::size_t vocab_size) {
  Draws draws(number + (std::uint64_t{1} << 30));
  std::vector<std::int32_t> ids(draws.below(25));
  for (std::int32_t& id : ids)
    id = static_cast<std::int32_t>(draws.below(vocab_size + 2));
  return ids;
}

}  // namespace mgpu::text
