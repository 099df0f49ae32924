#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "decode_state.hpp"

namespace mgpu::lm {

/// Rows of one pass: those of fed sequences, one token each, and then pieces of prefills.
struct BuiltPass {
  std::vector<TokenRun> runs;
  std::vector<std::int64_t> fed;
  std::vector<SeenPiece> pieces;
};

/// Sequences with input that waits, in the order in which it goes through the model.
class PassBuilder {
public:
  /// A sequence waits with this input.
  void add(std::int64_t sequence, const SequenceInput& input);
  void forget(std::int64_t sequence);

  /// The sequences with one token for the next pass, if nothing else waits; they wait no longer.
  /// Errors: Error when there is something else.
  std::vector<std::int64_t> take_fed();

  bool is_empty() const { return fed_.empty() && first_.empty() && others_.empty(); }

  /// The next pass, with at most `budget` tokens of prefills; its runs look into the state.
  BuiltPass build(DecodeState& state, std::int64_t budget);

private:
  static std::int64_t add_pieces(std::deque<std::int64_t>& waiting, DecodeState& state,
                                 std::int64_t budget, BuiltPass& pass);

  std::vector<std::int64_t> fed_;
  std::deque<std::int64_t> first_;   // prefills that go first
  std::deque<std::int64_t> others_;  // prefills
};

}  // namespace mgpu::lm
