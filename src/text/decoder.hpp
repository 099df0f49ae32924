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

/// One stage of a decoder. A decoder turns a list of token texts into a text. A DecodeStage object
/// processes only one list. The function add() emits text that no later token can change, and holds
/// back all other text.
class DecodeStage {
public:
  using Emit = std::function<void(std::string_view token)>;

  virtual ~DecodeStage() = default;
  virtual void add(std::string_view token, const Emit& emit) = 0;
  /// Ends the list of tokens: emits the text that add() has held back.
  virtual void finish(const Emit&) {}
};

/// The decoder of a tokenizer file. Any number of threads may use one object.
class Decoder {
public:
  /// Reads the decoder of a tokenizer.json. Without a `node`, the decoder joins tokens by spaces.
  /// Errors: E541 (malformed), E542 (not supported)
  explicit Decoder(const std::optional<JsonNode>& node);

  /// Returns new stages for one list of tokens, in processing order.
  std::vector<std::unique_ptr<DecodeStage>> start() const;

private:
  using MakeStage = std::function<std::unique_ptr<DecodeStage>()>;

  /// Adds the stages that a node of tokenizer.json describes. `joined`: whether an earlier node
  /// joins all tokens into one token. The function sets `joined` to true if this node joins them.
  void read(const JsonNode& node, bool& joined);

  std::vector<MakeStage> stages_;
};

/// The stages of a decoder in a chain, for one list of tokens.
class DecodeChain {
public:
  explicit DecodeChain(const Decoder& decoder) : stages_(decoder.start()) {}

  /// The function add() appends to `text` the characters that no later token can change. The
  /// function finish() appends the characters that add() has held back.
  void add(std::string_view token, std::string& text);
  void finish(std::string& text);

private:
  void pass(std::size_t stage, std::string_view token, std::string& text);

  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

}  // namespace mgpu::text
