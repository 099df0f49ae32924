#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/lm/decode/decode_session.hpp>

#include "group_failure.hpp"

// Shapes in this header: n tokens of an input, D width.
namespace mgpu::lm {

/// Tokens of a sequence that wait for their passes.
struct SequenceInput {
  std::vector<std::int64_t> ids;
  at::Tensor embeddings;  // [n, D]
  at::Tensor device_ids;  // [n] int64
  std::int64_t size = 0;
  std::int64_t seen = 0;  // of them, in the cache
  bool is_fed = false;    // one token, in the next pass
  PrefillOptions options{};
};

/// A sequence, except for its pages.
struct DecodeSequence {
  std::uint64_t sample = 0;
  std::uint32_t draws = 0;
  std::vector<std::int64_t> context;  // its tokens; -1: only the device has the id
  SequenceInput input;
  at::Tensor states;     // [rows, D] of a pass, where the head is
  std::int64_t row = 0;  // of its newest token
};

struct DecodeState {
  DecodeState(const LanguageModel& model, const PagedCache::Sizes& sizes)
      : cache(model.make_cache(sizes)), failure(model) {}

  /// Errors: Error when there is no such sequence.
  DecodeSequence& at(std::int64_t sequence);
  /// A new one with the number that the cache gave it.
  DecodeSequence& begin(std::int64_t sequence, std::uint64_t sample);

  PagedCache cache;
  GroupFailure failure;
  std::vector<DecodeSequence> sequences;  // by their number in the cache
};

}  // namespace mgpu::lm
