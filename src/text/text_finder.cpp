#include "added_tokens.hpp"

namespace mgpu::text {

bool TextFinder::add(std::string_view text, TokenId id) {
  std::uint32_t node = 0;
  for (const char byte : text) {
    const auto [step, is_new] =
        next_.emplace(edge(node, byte), static_cast<std::uint32_t>(ends_.size()));
    if (is_new) ends_.push_back(kNoToken);
    node = step->second;
  }
  if (text.empty() || ends_[node] != kNoToken) return false;
  ends_[node] = id;
  starts_[static_cast<unsigned char>(text[0])] = true;
  return true;
}

std::optional<TextFinder::Found> TextFinder::find(std::string_view text, std::size_t start) const {
  for (std::size_t begin = start; begin < text.size(); ++begin) {
    if (!starts_[static_cast<unsigned char>(text[begin])]) continue;
    Found found{begin, begin, kNoToken};
    std::uint32_t node = 0;
    for (std::size_t i = begin; i < text.size(); ++i) {
      const auto step = next_.find(edge(node, text[i]));
      if (step == next_.end()) break;
      node = step->second;
      if (ends_[node] != kNoToken) found = {begin, i + 1, ends_[node]};
    }
    if (found.id != kNoToken) return found;
  }
  return {};
}

}  // namespace mgpu::text
