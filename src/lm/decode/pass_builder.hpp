#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "decode_state.hpp"

namespace mgpu::lm {

/// The rows of one pass: first one token of each fed sequence, then pieces of prefills.
struct BuiltPass {
  std::vector<SequenceSpan> spans;
  std::vector<std::int64_t> fed;
  std::vector<SeenPiece> pieces;
};

/// The sequences with pending input, in the order of processing.
class PassBuilder {
public:
  /// Adds the input of a sequence.
  void add(std::int64_t sequence, const SequenceInput& input);
  void forget(std::int64_t sequence);

  /// Removes and returns the sequences with one token for the next pass. No other input may be
  /// pending.
  /// Errors: Error when other input is pending.
  std::vector<std::int64_t> take_fed();

  bool is_empty() const { return fed_.empty() && first_.empty() && others_.empty(); }

  /// Builds the next pass with at most `budget` tokens of prefills. Its spans refer to the state.
  BuiltPass build(DecodeState& state, std::int64_t budget);

private:
  static std::int64_t add_pieces(std::deque<std::int64_t>& waiting, DecodeState& state,
                                 std::int64_t budget, BuiltPass& pass);

  std::vector<std::int64_t> fed_;
  std::deque<std::int64_t> first_;   // prefills that go first
  std::deque<std::int64_t> others_;  // all other prefills
};

}  // namespace mgpu::lm
