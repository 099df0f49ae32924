#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <mgpu/text/tokenizer.hpp>

namespace mgpu::rows {

/// Searches growing completions for stop strings, token by token. Special tokens are ignored. Bytes
/// at the end that the next token may still change are not searched yet.
class StopStrings {
public:
  /// The tokenizer must outlive this object.
  StopStrings(const text::Tokenizer& tokenizer, std::vector<std::string> stops);

  /// Returns whether a stop string occurs in completion `sample`, which consists of the tokens
  /// `ids` so far. Call it after each token of the completion, in order.
  bool is_reached(std::uint64_t sample, std::span<const std::int64_t> ids);

  /// Forgets all completions.
  void clear() { grown_.clear(); }

private:
  struct Grown {
    text::StreamDecoder decoder;
    std::string tail;  // last bytes of the completion, in which a match may begin
  };

  const text::Tokenizer* tokenizer_;
  std::vector<std::string> stops_;
  std::size_t longest_ = 0;
  std::map<std::uint64_t, Grown> grown_;
};

}  // namespace mgpu::rows
