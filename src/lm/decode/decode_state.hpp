#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/lm/decode/decode_session.hpp>

#include "group_failure.hpp"

// Shapes in this header: n tokens of an input, D width.
namespace mgpu::lm {

/// Input tokens of a sequence, of which the model has processed only the first `seen` so far. If
/// there are tokens, they are in exactly one of `ids`, `embeddings` and `device_ids`.
struct SequenceInput {
  std::vector<std::int64_t> ids;
  at::Tensor embeddings;  // [n, D]
  at::Tensor device_ids;  // [n] int64
  std::int64_t size = 0;
  std::int64_t seen = 0;  // number of these tokens that are in the cache
  bool is_fed = false;    // true: one token for the next pass; false: a prefill
  PrefillOptions options{};
};

/// The state of a sequence in a decode session, apart from the KV cache.
struct DecodeSequence {
  std::uint64_t sample = 0;
  std::uint32_t draws = 0;
  std::vector<std::int64_t> context;  // all ids of the sequence; -1: an unknown id
  SequenceInput input;
  at::Tensor states;     // [rows, D] newest states of this and other sequences, on ranks with the
                         // head
  std::int64_t row = 0;  // row of the newest token in `states`
};

struct DecodeState {
  DecodeState(const LanguageModel& model, const PagedCache::Sizes& sizes)
      : cache(model.make_cache(sizes)), failure(model) {}

  /// Returns the state of a sequence. Errors: Error when the sequence does not exist.
  DecodeSequence& at(std::int64_t sequence);
  /// Adds the state of a sequence that has just been added to the cache, and returns this state.
  DecodeSequence& begin(std::int64_t sequence, std::uint64_t sample);

  PagedCache cache;
  GroupFailure failure;
  std::vector<DecodeSequence> sequences;  // indexed by the number of the sequence in the cache
};

}  // namespace mgpu::lm
