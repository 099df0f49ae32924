#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/forward/pass_sizes.hpp>
#include <mgpu/lm/parallel/shard.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

// Shapes in this header: n = tokens of a span, N = tokens of all spans, W = tokens whose hidden
// states are returned, S = sequences, D = width, V = vocabulary. The functions of the vocabulary
// head take N hidden states.
namespace mgpu::lm {

class StepPlan;

/// New tokens of one sequence. One pass can process spans of any lengths, without padding. The
/// tokens of a span are `ids`, unless `embeddings` or `device_ids` is defined.
struct SequenceSpan {
  std::span<const std::int64_t> ids;
  std::int64_t sequence = 0;  // number of the sequence in the cache; unused without a cache

  /// The sequence length from which RopeKind::dynamic computes its rotation; other kinds ignore it.
  /// 0 means the length up to the end of this span. If the span is only a part of a prompt,
  /// `length` must be the length of the whole prompt.
  std::int64_t length = 0;

  /// Hidden states are returned for the last `num_outputs` tokens of the span, or for all tokens if
  /// the span is shorter. For the other tokens, the last layer computes only keys and values.
  std::int64_t num_outputs = std::numeric_limits<std::int64_t>::max();

  /// Inputs of the first layer, in place of rows of the embedding matrix. Learned positions are
  /// added to them. Ranks without the first layer use only their shape.
  at::Tensor embeddings{};  // [n, D] float32 on the model's device

  /// Ids in device memory. The caller guarantees that they are in the vocabulary.
  at::Tensor device_ids{};  // [n] int64 on the model's device
};

inline std::int64_t tokens_of(const SequenceSpan& span) {
  if (span.embeddings.defined()) return span.embeddings.size(0);
  return span.device_ids.defined() ? span.device_ids.size(0) : std::ssize(span.ids);
}

inline std::int64_t num_outputs_of(const SequenceSpan& span) {
  return std::min(span.num_outputs, tokens_of(span));
}

/// A decoder-only model from a Hugging Face folder. One implementation serves prefill, chunked
/// prefill, decoding and scoring. On the CPU the bits of a token's output depend only on its
/// sequence up to that token, not on the call or the other sequences in the batch. With
/// RopeKind::dynamic they also depend on SequenceSpan::length.
class LanguageModel {
public:
  /// Makes a complete model on one rank.
  ///
  /// Shapes: weights have the shapes of weight_specs(config) and are on one device; they are
  ///         float32, but the matrices that matrices_of() returns may all be bfloat16
  /// Memory: on the CPU the matrix of each linear layer is packed into a new copy and its original
  ///         is released, one matrix at a time. The model does not see later changes of the
  ///         originals.
  LanguageModel(LmConfig config, LmWeights weights);

  /// Makes one shard of a model, with weights from shard_weights(). `peers` connects to the ranks
  /// with the other shards and has to outlive the model. hidden() and functions that call it are
  /// then collective over those ranks. With tensor parallelism, apply_head() is collective, too. In
  /// a pipeline, only the last rank may call apply_head().
  LanguageModel(LmConfig config, LmWeights weights, const Shard& shard, ShardPeers& peers);

  /// Loads config and weights of a folder to the CPU. Errors: those of read_lm_config(),
  /// WeightFiles and load_weights().
  static LanguageModel open(const fs::path& folder, const LoadOptions& options = {});

  const LmConfig& config() const { return config_; }  // config of the whole model
  const LmWeights& weights() const { return weights_; }
  const Shard& shard() const { return shard_; }
  ShardPeers* peers() const { return peers_; }  // nullptr: not split over ranks

  /// Returns the batch and block sizes of a pass. The default depends on the device.
  const PassSizes& sizes() const { return sizes_; }
  /// Replaces sizes(). Errors: Error unless all sizes are positive, and vocabulary_block is a
  /// multiple of kVocabularyBlock.
  void set_sizes(const PassSizes& sizes);

  /// Returns the hidden states of whole sequences, after the last norm. Uses no cache. Not
  /// differentiable.
  ///
  /// Shapes: returns [W, D] float32; [0, D] on a rank without the head
  /// Errors: ShapeError when an id is not in the vocabulary, embeddings have the wrong width or
  ///         type, or a sequence is longer than the learned positions.
  at::Tensor hidden(std::span<const SequenceSpan> spans) const;

  /// Returns the hidden states of tokens that continue the sequences in `cache`, and adds the keys
  /// and values of these tokens to the cache. No sequence may occur twice.
  ///
  /// Shapes: returns [W, D] float32; [0, D] on a rank without the head
  /// Errors: those of hidden() without a cache; Error when a sequence does not exist; ShapeError
  ///         when a sequence occurs twice, or the cache has too few pages. All these errors leave
  ///         the cache unchanged.
  at::Tensor hidden(std::span<const SequenceSpan> spans, PagedCache& cache) const;

  /// Reserves cache slots, and computes positions, for the next `steps` tokens of sequences that
  /// grow by one token per step.
  /// Errors: ShapeError when there are too few learned positions or free pages.
  StepPlan plan_steps(std::span<const std::int64_t> sequences, std::int64_t steps,
                      PagedCache& cache) const;

  /// Runs step number `step` of a plan that plan_steps() made, with one token per sequence. Returns
  /// the hidden states, [S, D]. Reads nothing back from the device, unless the model has experts.
  ///
  /// Shapes: ids [S] int64 on the model's device, in the vocabulary
  at::Tensor hidden(const at::Tensor& ids, const StepPlan& plan, std::int64_t step,
                    PagedCache& cache) const;

  /// Returns the number of rows of each all-reduce in a call of hidden(). There is one all-reduce
  /// of N rows for the embedding, and two for each layer. Those of the last layer have W rows, the
  /// others N rows. All-reduces of zero rows are omitted. The result is empty without tensor
  /// parallelism.
  std::vector<std::int64_t> all_reduce_rows(std::span<const SequenceSpan> spans) const;

  /// Returns a KV cache for this model, on its device. Errors: ShapeError when sizes.page_tokens is
  /// below 1.
  PagedCache make_cache(const PagedCache::Sizes& sizes) const;

private:
  at::Tensor run(std::span<const SequenceSpan> spans, PagedCache* cache) const;

  LmConfig config_;
  LmWeights weights_;
  Shard shard_;
  LmConfig held_;  // `config_` with the sizes of this shard, from held_by()
  ShardPeers* peers_ = nullptr;
  PassSizes sizes_;
};

/// The results of apply_head() for N hidden states.
struct HeadResult {
  at::Tensor log_sums;     // [N] float32: log of the sum of exp over all logits, nats
  at::Tensor log_probs;    // [N] float32 of the targets, nats; undefined without targets
  at::Tensor best_ids;     // [N, K] int64, most probable first, ties by ascending id
  at::Tensor best_logits;  // [N, K] float32
};

/// Applies the vocabulary head in blocks of the vocabulary; the whole matrix of logits [N, V] never
/// exists. `best` is K, the number of best tokens per row.
///
/// Shapes: hidden [N, D]; targets [N] int64 in [0, V) or undefined; best at most min(V,
///         kernels::kMaxBest)
/// Memory: one block of logits; the model's PassSizes set its size.
/// Ranks:  those that have the head; collective over the ranks of a tensor-parallel model
/// Errors: ShapeError when the shapes do not fit.
HeadResult apply_head(const LanguageModel& model, const at::Tensor& hidden,
                      const at::Tensor& targets, std::int64_t best);

/// M drawn tokens for each of N hidden states.
struct DrawsWithReplacement {
  at::Tensor log_sums;  // [N] float32: log of the sum of exp over all logits, nats
  at::Tensor ids;       // [N, M] int64, in the order of `uniforms`
};

/// Draws tokens from the softmax of the logits, with replacement. Makes two passes over the blocks
/// of the vocabulary. The draws of a row depend on that row and its uniforms only.
///
/// Shapes: hidden [N, D]; uniforms [N, M] float64 in [0, 1), ascending in each row
/// Ranks:  those that have the head; collective over the ranks of a tensor-parallel model
/// Errors: ShapeError when the shapes do not fit.
DrawsWithReplacement draw_with_replacement(const LanguageModel& model, const at::Tensor& hidden,
                                           const at::Tensor& uniforms);

}  // namespace mgpu::lm
