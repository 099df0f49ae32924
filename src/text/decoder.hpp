#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json_node.hpp"

namespace mgpu::text {

/// One step from token texts to a text, for one list of tokens. It emits text that no later token
/// can change, and holds back all other text.
class DecodeStage {
public:
  using Emit = std::function<void(std::string_view token)>;

  virtual ~DecodeStage() = default;
  virtual void add(std::string_view token, const Emit& emit) = 0;
  /// Ends the list: emits what was held back.
  virtual void finish(const Emit&) {}
};

/// The decoder of a tokenizer file. Any number of threads may use one object.
class Decoder {
public:
  /// Reads the decoder's node. Without a node, the decoder joins tokens by spaces. Errors: E541,
  /// E542
  explicit Decoder(const std::optional<JsonNode>& node);

  /// Returns new stages in processing order.
  std::vector<std::unique_ptr<DecodeStage>> start() const;

private:
  using MakeStage = std::function<std::unique_ptr<DecodeStage>()>;

  /// Adds the stages of a node. `joined` says whether an earlier stage joins all tokens to one,
  /// which arrives in parts; it is updated.
  void read(const JsonNode& node, bool& joined);

  std::vector<MakeStage> stages_;
};

/// The chained stages of one list of tokens.
class DecodeChain {
public:
  explicit DecodeChain(const Decoder& decoder) : stages_(decoder.start()) {}

  /// Appends to `text` what is final after this token. finish() appends what was held back.
  void add(std::string_view token, std::string& text);
  void finish(std::string& text);

private:
  void pass(std::size_t stage, std::string_view token, std::string& text);

  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

}  // namespace mgpu::text
