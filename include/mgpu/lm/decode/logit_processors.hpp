#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/sampler.hpp>

// What clients may change between the logits and the draw. Neither kind of processor sees a whole
// row of logits. The log-probability that a drawn token is recorded with stays that of the model
// itself.
//
// Which ranks call them: those that have the model's head. A whole model calls them on its rank, a
// tensor group on all of its ranks with the same candidates, a pipeline on its last rank only. A
// second model is therefore whole on each of those ranks, or shared out to the same tensor group.
//
// Shapes in this header: N drawing sequences, n rows of a block, B its tokens, K candidates.
namespace mgpu::lm {

/// Tokens that a sequence is given, in one of two forms.
struct GivenTokens {
  std::span<const std::int64_t> ids;  // empty: see embeddings
  at::Tensor embeddings{};            // [n, D] float32
};

/// Sees what the sessions of one pool do with their sequences, in their order, where the head is.
/// Does not throw: work that may fail waits for process() or offsets().
class SequenceWatcher {
public:
  SequenceWatcher() = default;
  SequenceWatcher(const SequenceWatcher&) = delete;
  SequenceWatcher& operator=(const SequenceWatcher&) = delete;
  SequenceWatcher(SequenceWatcher&&) = delete;
  SequenceWatcher& operator=(SequenceWatcher&&) = delete;
  virtual ~SequenceWatcher() = default;

  virtual void added(std::int64_t /*sequence*/) {}
  /// `copy` has the first `tokens` tokens of `origin`.
  virtual void forked(std::int64_t /*origin*/, std::int64_t /*copy*/, std::int64_t /*tokens*/) {}
  virtual void given(std::int64_t /*sequence*/, const GivenTokens& /*tokens*/) {}
  /// Each row's sequence goes on with its token of `ids` [N] int64, on the model's device.
  virtual void drawn(std::span<const DrawSite> /*rows*/, const at::Tensor& /*ids*/) {}
  virtual void dropped(std::int64_t /*sequence*/) {}
  /// All sequences are gone, after a failure.
  virtual void reset() {}
};

/// Changes logits block by block, after the repetition penalty.
class BlockProcessor : public SequenceWatcher {
public:
  /// Changes, in place, the logits of tokens first_id .. first_id + B - 1. A token of a row may
  /// come several times for one draw, in blocks of other sizes, and is to get the same logit each
  /// time.
  ///
  /// Shapes: rows n; logits [n, B] float32 on the model's device
  virtual void process(std::span<const DrawSite> rows, std::int64_t first_id,
                       const at::Tensor& logits) = 0;
};

/// Adds offsets to the logits of the most probable tokens, after all block processors. The logits
/// of other tokens keep their bits; offsets of 0 give the tokens that are drawn without it.
class CandidateProcessor : public SequenceWatcher {
public:
  /// K, at most kernels::kMaxBest; a smaller vocabulary has fewer candidates.
  virtual std::int64_t candidates() const = 0;

  /// What is added to the logits of the candidates, before the temperature divides them;
  /// -infinity forbids a candidate.
  ///
  /// Shapes: rows N; ids [N, K] int64, most probable first, equal ones by ascending id; logits
  ///         [N, K] float32; returns [N, K] float32 on the same device
  virtual at::Tensor offsets(std::span<const DrawSite> rows, const at::Tensor& ids,
                             const at::Tensor& logits) = 0;
};

/// Processors of sessions, which they outlive. One processor serves one pool at a time.
struct LogitProcessors {
  std::vector<BlockProcessor*> blocks{};    // in this order
  CandidateProcessor* candidate = nullptr;  // nullptr: none

  bool is_empty() const { return blocks.empty() && candidate == nullptr; }
};

}  // namespace mgpu::lm
