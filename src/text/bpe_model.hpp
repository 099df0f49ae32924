#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "json_node.hpp"
#include "merge_table.hpp"
#include "vocabulary.hpp"
#include "word_cache.hpp"

namespace mgpu::text {

/// Byte-pair encoding (BPE). The encoding of a piece of text starts with the tokens of its
/// characters. Each step merges the pair of neighboring tokens whose merge has the lowest
/// Merge::rank; of several such pairs, the leftmost. The encoding ends when no pair can be merged.
/// If the option `ignore_merges` is true, a piece that is a token itself is encoded as this token.
///
/// Source: Sennrich et al., Neural machine translation of rare words with subword units (2016);
///         tokenizers 0.23, models/bpe, for unknown characters
class BpeModel {
public:
  /// Buffers that a caller of encode() reuses between calls. Each thread needs separate buffers.
  struct Scratch {
    struct Symbol {
      TokenId id;
      int previous, next;  // index of a symbol; -1: no symbol
    };
    struct Candidate {
      std::uint32_t rank;
      int left;  // index of the left symbol
      TokenId result;
    };
    WordCache cache;
    std::vector<TokenId> start;  // the tokens of the piece's characters, then the merged tokens
    std::vector<Symbol> symbols;
    std::vector<Candidate> candidates;  // a heap of pairs that can be merged
  };

  /// Reads the vocabulary and the merges from `node`, and all other settings from `options`. The
  /// two nodes have the form of the member `model` of a tokenizer.json.
  /// Errors: E541 (malformed), E542 (not supported)
  BpeModel(const JsonNode& node, const JsonNode& options);

  const Vocabulary& vocabulary() const { return vocabulary_; }

  /// Appends the tokens of a piece to `ids`. The piece must be valid UTF-8 and not empty. With the
  /// option `byte_fallback`, a character without a token becomes the tokens of its bytes, if each
  /// byte has a token. Any other character without a token becomes `unk_token`, or is dropped if
  /// `unk_token` is missing or null. With the option `fuse_unk`, adjacent characters of this kind
  /// become one `unk_token`.
  ///
  /// Errors: Failure E543 for a character that would become an `unk_token` that is not in the
  ///         vocabulary
  void encode(std::string_view piece, Scratch& scratch, std::vector<TokenId>& ids) const;

private:
  void read_merges(const JsonNode& list);
  /// Puts the tokens of a piece's characters into scratch.start.
  void start(std::string_view piece, Scratch& scratch) const;
  TokenId find_character(std::string_view character) const;
  bool append_bytes(std::string_view character, std::vector<TokenId>& ids) const;
  void merge_short(std::vector<TokenId>& ids) const;
  void merge_long(Scratch& scratch) const;
  void push_candidate(Scratch& scratch, int left) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  std::array<TokenId, 0x80> ascii_;  // tokens of the ASCII characters; kNoToken: none
  std::array<TokenId, 256> bytes_;   // tokens <0x00> to <0xFF>; kNoToken: none
  TokenId unknown_ = kNoToken;
  bool unknown_missing_ = false;  // true: `unk_token` is given, but not in the vocabulary
  bool byte_fallback_, fuse_unknown_, ignore_merges_;
};

}  // namespace mgpu::text
