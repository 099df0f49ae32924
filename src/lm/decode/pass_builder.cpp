#include "pass_builder.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {
namespace {

/// Returns the next `count` tokens of a sequence's input.
SequenceSpan next_span(std::int64_t sequence, const SequenceInput& input, std::int64_t count) {
  SequenceSpan span{{}, sequence, input.options.length};
  if (input.embeddings.defined())
    span.embeddings = input.embeddings.narrow(0, input.seen, count);
  else if (input.device_ids.defined())
    span.device_ids = input.device_ids.narrow(0, input.seen, count);
  else
    span.ids = std::span(input.ids).subspan(static_cast<std::size_t>(input.seen),
                                            static_cast<std::size_t>(count));
  return span;
}

}  // namespace

void PassBuilder::add(std::int64_t sequence, const SequenceInput& input) {
  if (input.is_fed)
    fed_.push_back(sequence);
  else
    (input.options.goes_first ? first_ : others_).push_back(sequence);
}

void PassBuilder::forget(std::int64_t sequence) {
  std::erase(fed_, sequence);
  std::erase(first_, sequence);
  std::erase(others_, sequence);
}

const std::vector<std::int64_t>& PassBuilder::fed() const {
  if (!first_.empty() || !others_.empty()) throw Error("DecodeSession: a prefill waits");
  return fed_;
}

BuiltPass PassBuilder::build(DecodeState& state, std::int64_t budget) {
  BuiltPass pass;
  pass.fed = std::exchange(fed_, {});
  for (const std::int64_t sequence : pass.fed)
    pass.spans.push_back(next_span(sequence, state.at(sequence).input, 1));
  budget = add_pieces(first_, state, budget, pass);
  add_pieces(others_, state, budget, pass);
  return pass;
}

/// Adds at most `budget` tokens of the waiting prefills to the pass. Returns the remaining budget.
std::int64_t PassBuilder::add_pieces(std::deque<std::int64_t>& waiting, DecodeState& state,
                                     std::int64_t budget, BuiltPass& pass) {
  while (!waiting.empty() && budget > 0) {
    const std::int64_t sequence = waiting.front();
    SequenceInput& input = state.at(sequence).input;
    const std::int64_t count = std::min(budget, input.size - input.seen);
    const bool is_last = input.seen + count == input.size;
    SequenceSpan span = next_span(sequence, input, count);
    if (!input.options.shows_all) span.num_outputs = is_last ? 1 : 0;
    pass.pieces.push_back({sequence, input.seen, count, 0, num_outputs_of(span), is_last});
    pass.spans.push_back(std::move(span));
    input.seen += count;
    budget -= count;
    if (is_last) waiting.pop_front();
  }
  return budget;
}

}  // namespace mgpu::lm
