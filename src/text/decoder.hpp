#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json_node.hpp"

namespace mgpu::text {

/// One step from the texts of tokens to a text, at work on one list of tokens. It passes on what
/// no later token can change, and holds back the rest.
class DecodeStage {
public:
  using Emit = std::function<void(std::string_view token)>;

  virtual ~DecodeStage() = default;
  virtual void add(std::string_view token, const Emit& emit) = 0;
  /// There are no more tokens: passes on what was held back.
  virtual void finish(const Emit&) {}
};

/// How a tokenizer file turns texts of tokens into a text. Any number of threads may use one.
class Decoder {
public:
  /// Without a node the tokens are joined by spaces. Errors: E541, E542
  explicit Decoder(const std::optional<JsonNode>& node);

  /// Fresh stages, in the order in which they work.
  std::vector<std::unique_ptr<DecodeStage>> start() const;

private:
  using MakeStage = std::function<std::unique_ptr<DecodeStage>()>;

  /// `joined`: stages before this one have made one token of all; it comes in parts.
  void read(const JsonNode& node, bool& joined);

  std::vector<MakeStage> stages_;
};

/// The stages of one list of tokens, chained.
class DecodeChain {
public:
  explicit DecodeChain(const Decoder& decoder) : stages_(decoder.start()) {}

  /// Both append to `text` what comes out at the end.
  void add(std::string_view token, std::string& text);
  void finish(std::string& text);

private:
  void pass(std::size_t stage, std::string_view token, std::string& text);

  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

}  // namespace mgpu::text
