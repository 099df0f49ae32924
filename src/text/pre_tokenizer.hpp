#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json_node.hpp"
#include "sections.hpp"

namespace mgpu::text {

/// A text in pieces; the model merges inside a piece and never across its borders.
struct Pieces {
  struct Piece {
    std::size_t begin, end;  // bytes of `text`
  };

  std::string text;
  std::vector<Piece> pieces;  // none is empty
  bool at_start = true;       // the first piece begins the whole input

  /// One piece: `whole`.
  void assign(std::string_view whole, bool begins_input);
  std::string_view view(const Piece& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }

  // Scratch space, so that a long run of texts allocates nothing.
  std::string next_text;
  std::vector<Piece> next_pieces;
  std::vector<Section> sections;
};

/// Cuts pieces into smaller ones, and may rewrite them. Any number of threads may use one.
class PreTokenizer {
public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Pieces& pieces) const = 0;
};

/// Errors: E541, E542
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonNode& node);

}  // namespace mgpu::text
