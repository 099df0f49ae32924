#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/sampler.hpp>

// Hooks that change logits before a token is drawn. A BlockProcessor gets the logits of one block
// of the vocabulary at a time. With the default PassSizes, a block has at most 32,256 tokens, so a
// large vocabulary has several blocks. A CandidateProcessor gets the logits of the most probable
// tokens. So a processor must not expect all logits of a row at once. The recorded log-probability
// of a drawn token comes from the unchanged logits.
//
// Processors run on the ranks that have the model's head: all ranks of a tensor-parallel group, or
// the last stage of a pipeline. All ranks of a tensor-parallel group get the same candidates. If a
// processor runs another model, that model must be complete on each of the ranks with the head, or
// split over the same tensor-parallel group.
//
// Shapes in this header: N rows of a draw, n rows of a block, B tokens of a block, K candidates.
namespace mgpu::lm {

/// The tokens that were given to a sequence as input, either as ids or as embeddings.
struct GivenTokens {
  std::span<const std::int64_t> ids;  // empty: the tokens are given as `embeddings`
  at::Tensor embeddings{};            // [tokens, width of the model] float32
  std::int64_t length = 0;            // see SequenceSpan::length
};

/// The largest sizes that a call of Generator::run() needs.
struct PoolDemand {
  PagedCache::Sizes cache;  // sizes of a cache for all sequences that exist at the same time
  std::int64_t rows = 0;    // largest number of rows of one draw
};

/// An observer of the sequences of one DecodePool. On ranks with the head, one of its functions is
/// called for each change, in the order of the changes. Only tokens of DecodeSession::feed() are
/// not reported. begins() and reset() are called on every rank. The functions must not throw. Work
/// that may fail belongs in BlockProcessor::process() or CandidateProcessor::offsets().
class SequenceWatcher {
public:
  SequenceWatcher() = default;
  SequenceWatcher(const SequenceWatcher&) = delete;
  SequenceWatcher& operator=(const SequenceWatcher&) = delete;
  SequenceWatcher(SequenceWatcher&&) = delete;
  SequenceWatcher& operator=(SequenceWatcher&&) = delete;
  virtual ~SequenceWatcher() = default;

  /// Returns whether prompts may share the cache pages of a common prefix. The result is false if
  /// the work depends on the length of a prompt. It must be the same on all ranks.
  virtual bool allows_shared_prefixes() const { return true; }

  /// Called at the beginning of a call of Generator::run() that draws tokens, when the pool has no
  /// sequences.
  virtual void begins(const PoolDemand& /*demand*/) {}
  virtual void added(std::int64_t /*sequence*/) {}
  /// Called after a sequence `copy` was added with the first `tokens` tokens of `origin`.
  virtual void forked(std::int64_t /*origin*/, std::int64_t /*copy*/, std::int64_t /*tokens*/) {}
  virtual void given(std::int64_t /*sequence*/, const GivenTokens& /*tokens*/) {}
  /// Called after each draw of N tokens. Token ids[n] was drawn for sequence rows[n].sequence.
  /// `ids` is [N] int64 on the model's device.
  virtual void drawn(std::span<const DrawSite> /*rows*/, const at::Tensor& /*ids*/) {}
  virtual void dropped(std::int64_t /*sequence*/) {}
  /// Called after Generator::run() has failed and removed all sequences.
  virtual void reset() {}
};

/// Changes logits block by block, after the repetition penalty.
class BlockProcessor : public SequenceWatcher {
public:
  /// Changes the logits of tokens first_id .. first_id + B - 1 in place. The function may be called
  /// several times for the same token and draw, with blocks of different sizes. It must compute the
  /// same logit for the token each time.
  ///
  /// Shapes: rows n; logits [n, B] float32 on the model's device
  virtual void process(std::span<const DrawSite> rows, std::int64_t first_id,
                       const at::Tensor& logits) = 0;
};

/// Adds offsets to the logits of the most probable tokens (the candidates), after all block
/// processors. The logits of other tokens keep their bits. With offsets of 0, the same tokens are
/// drawn as without the processor.
class CandidateProcessor : public SequenceWatcher {
public:
  /// Returns K, the number of candidates per row, at most kernels::kMaxBest. If the vocabulary has
  /// fewer than K tokens, all of them are candidates.
  virtual std::int64_t candidates() const = 0;

  /// Returns the offsets of the candidates' logits, which are added before the division by the
  /// temperature. An offset of -infinity forbids a candidate.
  ///
  /// Shapes: rows N; ids [N, K] int64, most probable first, ties by ascending id; logits [N, K]
  ///         float32; returns [N, K] float32 on the same device
  virtual at::Tensor offsets(std::span<const DrawSite> rows, const at::Tensor& ids,
                             const at::Tensor& logits) = 0;
};

/// The offsets that a candidate processor adds to the logits of the candidates. Without a candidate
/// processor, the tensors are undefined.
struct CandidateOffsets {
  at::Tensor ids;     // [N, K] int64; -1: no candidate
  at::Tensor values;  // [N, K] float32
  at::Tensor logits;  // [N, K] float32: the candidates' logits without the offsets; undefined in
                      // the result of OffsetRecord::of()
};

/// The processors of decode sessions. They have to outlive the sessions. A processor can serve
/// only one pool at a time.
struct LogitProcessors {
  std::vector<BlockProcessor*> blocks{};    // applied in this order
  CandidateProcessor* candidate = nullptr;  // nullptr: none

  bool is_empty() const { return blocks.empty() && candidate == nullptr; }
};

}  // namespace mgpu::lm
