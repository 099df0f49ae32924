#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "decode_state.hpp"

namespace mgpu::lm {

/// The tokens of one pass. One token of each sequence in `fed` comes first. The prefill tokens that
/// `pieces` describes follow.
struct BuiltPass {
  std::vector<SequenceSpan> spans;
  std::vector<std::int64_t> fed;
  std::vector<SeenPiece> pieces;  // without SeenPiece::row, which DecodeSession sets later
};

/// The sequences with pending input, in the order in which they are processed.
class PassBuilder {
public:
  /// Adds a sequence whose pending input is `input`.
  void add(std::int64_t sequence, const SequenceInput& input);
  void forget(std::int64_t sequence);

  /// Returns the sequences whose input is one token for the next pass (SequenceInput::is_fed).
  /// Errors: Error when a prefill is pending.
  const std::vector<std::int64_t>& fed() const;

  /// Removes the sequences of fed().
  void clear_fed() { fed_.clear(); }

  bool is_empty() const { return fed_.empty() && first_.empty() && others_.empty(); }

  /// Builds the next pass with at most `budget` tokens of prefills. The spans of the result refer
  /// to the memory of `state`.
  BuiltPass build(DecodeState& state, std::int64_t budget);

private:
  static std::int64_t add_pieces(std::deque<std::int64_t>& waiting, DecodeState& state,
                                 std::int64_t budget, BuiltPass& pass);

  std::vector<std::int64_t> fed_;
  std::deque<std::int64_t> first_;   // prefills with PrefillOptions::goes_first
  std::deque<std::int64_t> others_;  // all other prefills
};

}  // namespace mgpu::lm
