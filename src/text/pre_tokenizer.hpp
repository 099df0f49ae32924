#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json_node.hpp"
#include "sections.hpp"

namespace mgpu::text {

/// A text divided into pieces. BPE merges tokens of the same piece only.
struct Pieces {
  struct Piece {
    std::size_t begin, end;  // byte offsets in `text`
  };

  std::string text;
  std::vector<Piece> pieces;  // a piece is never empty
  bool at_start = true;       // true: the first piece is at the start of the input

  /// Replaces the text by `whole`. If `whole` is not empty, it becomes the only piece. Sets
  /// `at_start` to `begins_input`.
  void assign(std::string_view whole, bool begins_input);
  std::string_view view(const Piece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }

  // Scratch space. Calls for later texts reuse it, and so avoid allocations.
  std::string next_text;
  std::vector<Piece> next_pieces;
  std::vector<Section> sections;
};

/// Splits pieces into smaller ones, and may rewrite them. Any number of threads may use one object.
class PreTokenizer {
public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
};

/// Makes the pre-tokenizer that a node of tokenizer.json describes. Errors: E541 (malformed), E542
/// (not supported)
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonNode& node);

}  // namespace mgpu::text
