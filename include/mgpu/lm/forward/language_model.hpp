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

// Shapes in this header: N = tokens of all runs, W = those whose states are wanted, D = width,
// V = vocabulary.
namespace mgpu::lm {

class StepPlan;

/// New tokens of one sequence. Runs of any lengths go through the model together, without
/// padding. The tokens are `ids`, unless `embeddings` or `device_ids` is defined.
struct TokenRun {
  std::span<const std::int64_t> ids;
  std::int64_t sequence = 0;  // in the cache; without a cache the run is a whole sequence

  /// Length of the sequence that the rotation is made for, 0: up to this run. Matters for
  /// RopeKind::dynamic only: a prompt in chunks gives its whole length with each.
  std::int64_t length = 0;

  /// How many of the last tokens' hidden states the caller wants, at most all. The last layer
  /// computes keys and values of the others, and nothing else.
  std::int64_t wanted = std::numeric_limits<std::int64_t>::max();

  /// Goes into the first layer in place of rows of the embedding matrix. Learned positions are
  /// added to it. Ranks that do not have the first layer only look at the shape.
  at::Tensor embeddings{};  // [n, D] float32 on the model's device

  /// Ids that need not be on the host; the caller answers for their range.
  at::Tensor device_ids{};  // [n] int64 on the model's device
};

inline std::int64_t tokens_of(const TokenRun& run) {
  if (run.embeddings.defined()) return run.embeddings.size(0);
  return run.device_ids.defined() ? run.device_ids.size(0) : std::ssize(run.ids);
}

inline std::int64_t wanted_of(const TokenRun& run) {
  return std::min(run.wanted, tokens_of(run));
}

/// A decoder from a Hugging Face folder. One implementation for prefill, chunks of it, decoding
/// and scoring: on the CPU the bits of a token's output depend on its own sequence up to it, not
/// on which call computed it, or beside what.
class LanguageModel {
public:
  /// Shapes: weights as weight_specs(config) says, float32 or matrices_of() in bfloat16, all on one
  ///         device
  /// Memory: on the CPU matrices are packed one after the other, and those that were given are let
  ///         go; what happens to them afterwards is not seen here.
  LanguageModel(LmConfig config, LmWeights weights);

  /// The same for a part of a model: weights as shard_weights() gives them, beside `peers` with the
  /// other parts, which outlives the model. Each call of hidden() and apply_head(), and of what
  /// uses them, is collective over those ranks then.
  LanguageModel(LmConfig config, LmWeights weights, const Shard& shard, ShardPeers& peers);

  /// Config and weights of a folder, on the CPU. Errors: as read_lm_config, WeightFiles and
  /// load_weights.
  static LanguageModel open(const fs::path& folder, const LoadOptions& options = {});

  const LmConfig& config() const { return config_; }  // of the whole model
  const LmWeights& weights() const { return weights_; }
  const Shard& shard() const { return shard_; }
  ShardPeers* peers() const { return peers_; }  // nullptr: the model is whole

  /// How much goes through the model at a time: what suits its device, unless it is set.
  const PassSizes& sizes() const { return sizes_; }
  void set_sizes(const PassSizes& sizes);

  /// Hidden states behind the last norm, [W, D] float32, of whole sequences; [0, D] on a rank
  /// that does not have the head. Not differentiable.
  ///
  /// Errors: ShapeError when an id is not in the vocabulary, embeddings have another width or type,
  ///         or a sequence is longer than the learned positions.
  at::Tensor hidden(std::span<const TokenRun> runs) const;

  /// The same for tokens behind those that `cache` has of their sequences; it has them, too,
  /// afterwards. No sequence may come twice.
  ///
  /// Errors: also ShapeError when the cache has too few pages. It has not changed then.
  at::Tensor hidden(std::span<const TokenRun> runs, PagedCache& cache) const;

  /// Places for the next `steps` tokens of sequences that grow by one in each step.
  /// Errors: ShapeError when learned positions or the cache's pages are too few.
  StepPlan plan_steps(std::span<const std::int64_t> sequences, std::int64_t steps,
                      PagedCache& cache) const;

  /// The hidden states, [S, D], of one such token per sequence. Reads nothing back from the device,
  /// unless the model has experts.
  ///
  /// Shapes: ids [S] int64 on the model's device, in the vocabulary
  at::Tensor hidden(const at::Tensor& ids, const StepPlan& plan, std::int64_t step,
                    PagedCache& cache) const;

  /// Rows of each sum over the ranks in a call of hidden(): N for the embedding and twice for each
  /// layer, W for the last one; sums of no rows are left out. None where nothing is shared by sums.
  std::vector<std::int64_t> sums_of(std::span<const TokenRun> runs) const;

  /// A cache of this model's sizes and device.
  PagedCache make_cache(const PagedCache::Sizes& sizes) const;

private:
  at::Tensor run(std::span<const TokenRun> runs, PagedCache* cache) const;

  LmConfig config_;
  LmWeights weights_;
  Shard shard_;
  LmConfig held_;  // by the shard
  ShardPeers* peers_ = nullptr;
  PassSizes sizes_;
};

/// What the head says about each hidden state.
struct HeadResult {
  at::Tensor log_sums;     // [N] float32: log of the sum of exp over all logits, nats
  at::Tensor log_probs;    // [N] float32: of the targets, nats; undefined without targets
  at::Tensor best_ids;     // [N, K] int64, most probable first, equal ones by ascending id
  at::Tensor best_logits;  // [N, K] float32
};

/// Goes over the vocabulary in blocks: [N, V] never exists.
///
/// Shapes: hidden [N, D]; targets [N] int64 in [0, V) or undefined; best: K, at most
///         min(V, kernels::kMaxBest)
/// Memory: a block of logits of the model's PassSizes.
/// Errors: ShapeError when the shapes do not fit.
HeadResult apply_head(const LanguageModel& model, const at::Tensor& hidden,
                      const at::Tensor& targets, std::int64_t best);

/// Many tokens for each hidden state.
struct ManyDraws {
  at::Tensor log_sums;  // [N] float32, nats
  at::Tensor ids;       // [N, M] int64, in the order of the uniforms
};

/// Draws tokens from the softmax of the logits, with replacement. Goes over the vocabulary twice,
/// in blocks; a row's draws depend on that row and its uniforms only.
///
/// Shapes: hidden [N, D]; uniforms [N, M] float64 in [0, 1), ascending in each row
/// Errors: ShapeError when the shapes do not fit.
ManyDraws draw_many(const LanguageModel& model, const at::Tensor& hidden,
                    const at::Tensor& uniforms);

}  // namespace mgpu::lm
