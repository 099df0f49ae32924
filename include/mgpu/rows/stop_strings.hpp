#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <mgpu/text/tokenizer.hpp>

namespace mgpu::rows {

/// Looks for texts in completions while they grow, token by token. Text that a later token could
/// still change is not looked at yet.
class StopStrings {
public:
  /// The tokenizer outlives it.
  StopStrings(const text::Tokenizer& tokenizer, std::vector<std::string> stops);

  /// Whether one of the texts stands in the completion that `sample` names. Has to see each of
  /// its tokens, in their order.
  bool is_reached(std::uint64_t sample, std::span<const std::int64_t> ids);

  /// Forgets all completions.
  void clear() { grown_.clear(); }

private:
  struct Grown {
    text::StreamDecoder decoder;
    std::string tail;  // as much as the longest text but one byte, and what came last
  };

  const text::Tokenizer* tokenizer_;
  std::vector<std::string> stops_;
  std::size_t longest_ = 0;
  std::map<std::uint64_t, Grown> grown_;
};

}  // namespace mgpu::rows
