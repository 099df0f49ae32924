#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/lm/decode/decode_session.hpp>

#include "group_failure.hpp"

// Shapes in this header: n tokens of an input, D width.
namespace mgpu::lm {

/// The pending input of a sequence.
struct SequenceInput {
  std::vector<std::int64_t> ids;
  at::Tensor embeddings;  // [n, D]
  at::Tensor device_ids;  // [n] int64
  std::int64_t size = 0;
  std::int64_t seen = 0;  // tokens already in the cache
  bool is_fed = false;    // whether it is one token for the next pass
  PrefillOptions options{};
};

/// The state of a sequence outside the KV cache.
struct DecodeSequence {
  std::uint64_t sample = 0;
  std::uint32_t draws = 0;
  std::vector<std::int64_t> context;  // ids of its tokens; -1: unknown to the host
  SequenceInput input;
  at::Tensor states;     // [rows, D] states of its last pass, on ranks with the head
  std::int64_t row = 0;  // row of its newest token in `states`
};

struct DecodeState {
  DecodeState(const LanguageModel& model, const PagedCache::Sizes& sizes)
      : cache(model.make_cache(sizes)), failure(model) {}

  /// Errors: Error when the sequence does not exist.
  DecodeSequence& at(std::int64_t sequence);
  /// Adds a sequence under its number in the cache.
  DecodeSequence& begin(std::int64_t sequence, std::uint64_t sample);

  PagedCache cache;
  GroupFailure failure;
  std::vector<DecodeSequence> sequences;  // by number in the cache
};

}  // namespace mgpu::lm
