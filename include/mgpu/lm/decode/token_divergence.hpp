#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/decode/offset_record.hpp>
#include <mgpu/lm/forward/language_model.hpp>

// The code in this header computes KL(model || reference) for two models with the same vocabulary.
// Shapes in this header: N = tokens, D = width of a model, K = candidates.
namespace mgpu::lm {

/// Hidden states of a model for some tokens.
struct ModelStates {
  const LanguageModel& model;
  at::Tensor hidden;  // [N, D] float32, after the last norm
};

/// Returns KL(p || q) of each token, in nats. p and q are the distributions softmax(logits /
/// temperature) of the two models. Before the division by the temperature, offsets.values[n, k] is
/// added to p's logit of token offsets.ids[n, k], for row n; an id of -1 has no effect. The
/// divergence is never negative. It is exactly 0 for a token if all logits of p, with the offsets,
/// equal those of q. It is not finite if a logit is NaN or +infinity, or if q has a logit of
/// -infinity where p has a finite one. The vocabulary heads are applied in blocks, so the whole
/// matrix of logits [N, vocabulary] is never in memory. Sums are float64. On the CPU the bits of a
/// token's result do not depend on the other tokens of the call.
///
/// Shapes: ids and values of `offsets` [N, K], or undefined; returns [N] float64 on the host
/// Memory: one block of logits of each model, and with `offsets` a copy of p's block; on a GPU also
///         float64 copies of both blocks
/// Ranks:  collective over the ranks of tensor-parallel models
/// Errors: ShapeError when p and q have different vocabularies, different parts of the vocabulary
///         on this rank, or different numbers of tokens.
std::vector<double> token_divergence(const ModelStates& p, const ModelStates& q, double temperature,
                                     const CandidateOffsets& offsets = {});

/// Computes KL(model || reference), in nats, at each token of completions. Two Generators,
/// which generate no tokens, run the models over each prompt with its completion.
class SequenceDivergence {
public:
  /// A prompt with a completion.
  struct Sequence {
    std::span<const std::int64_t> prompt;      // at least one token
    std::span<const std::int64_t> completion;  // may be empty
    std::uint64_t sample = 0;                  // DrawSite::sample of the completion
    std::int64_t begun = 0;  // number of tokens at the start of `completion` that were not drawn
  };

  /// Keeps references to both models, which must outlive this object. They must be split in the
  /// same way over the same ranks.
  SequenceDivergence(const LanguageModel& model, const LanguageModel& reference, double temperature,
                     std::int64_t batch_size);
  SequenceDivergence(const SequenceDivergence&) = delete;
  SequenceDivergence& operator=(const SequenceDivergence&) = delete;

  /// Adds the offsets of `record` to the logits of the model, so that the results are those of the
  /// distributions from which the completions were drawn. The ranks with the vocabulary head need
  /// the record, which must outlive this object.
  void use_offsets(const OffsetRecord& record) { offsets_ = &record; }

  /// Returns one list per sequence, with token_divergence() for each token of the completion. The
  /// value compares the distributions that the two models predict for that token.
  ///
  /// Memory: the model's hidden states at the tokens of batch_size completions, and the KV caches
  ///         of both Generators, which stay allocated after the call.
  /// Ranks:  collective over the group of the models; all ranks get the result.
  /// Errors: those of Generator::run(); Failure E704 when logits of one of the models are not
  ///         finite; Error when the record of use_offsets() lacks a draw.
  std::vector<std::vector<double>> run(std::span<const Sequence> sequences);

  void set_batch_size(std::int64_t batch_size);

private:
  void run_batch(std::span<const Sequence> batch, std::vector<std::vector<double>>& all);
  void share_divergences();
  void keep_states(std::span<const PromptPiece> pieces, const at::Tensor& hidden);
  void compare(std::span<const PromptPiece> pieces, const at::Tensor& hidden);

  const LanguageModel& model_;
  const LanguageModel& reference_;
  double temperature_;
  const OffsetRecord* offsets_ = nullptr;  // nullptr: no offsets
  Generator of_model_;
  Generator of_reference_;
  std::span<const Sequence> batch_{};
  std::vector<at::Tensor> states_{};                // of each sequence, [completion.size(), D]
  std::vector<std::vector<double>> divergences_{};  // of each sequence
};

}  // namespace mgpu::lm
