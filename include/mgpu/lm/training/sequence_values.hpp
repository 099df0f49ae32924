#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <mgpu/lm/training/token_loss.hpp>

// Shapes in this header: N tokens of a batch, L tokens of a sequence, R hidden states of a sequence
// to which ModelHead is applied, O outputs of ModelHead.
namespace mgpu::lm {

/// Selects the values that the first sweep of a SequenceLoss computes.
struct ValueRequest {
  bool log_probs = true;     // log-probabilities of the targets
  bool entropies = false;    // entropies of the distributions over the vocabulary
  double temperature = 1.0;  // T: log-probabilities and entropies are those of softmax(logits / T)
  bool plain_log_probs = false;         // log-probabilities of the targets at temperature 1
  HeadRows head_rows = HeadRows::none;  // hidden states to which ModelHead is applied
};

/// The values that the first sweep of a SequenceLoss computes for a batch. Vectors that were not
/// requested are empty, but a request for `entropies` or `plain_log_probs` also fills `log_probs`.
/// In float32 on the CPU, log-probabilities at temperature 1 have the same bits as those of
/// LanguageModel.
struct TokenValues {
  std::vector<double> log_probs{};        // [N] nats; 0 where there is no target
  std::vector<double> entropies{};        // [N] nats; 0 where there is no target
  std::vector<double> plain_log_probs{};  // [N] nats, temperature 1; 0 where there is no target
  std::vector<double> head{};             // [rows that ValueRequest::head_rows selects, O]
};

/// One sequence of a batch with the values that were computed for it. The object refers to memory
/// of the LmBatch and of the TokenValues.
class MeasuredSequence {
public:
  std::span<const std::int64_t> ids;        // [L]
  std::span<const std::int64_t> targets;    // [L] the next token, or kernels::kIgnoreTarget
  std::span<const double> log_probs;        // [L] nats; 0 without a target; empty: not requested
  std::span<const double> entropies;        // [L] nats; 0 without a target; empty: not requested
  std::span<const double> plain_log_probs;  // [L] as log_probs, at temperature 1
  std::span<const double> head;             // [R, O] outputs of ModelHead; empty: not requested

  /// token_column() returns the L values of this sequence in the token column `name`.
  /// sequence_column() returns the value of this sequence in the sequence column `name`.
  /// Errors: ShapeError when the batch has no column `name`.
  std::span<const double> token_column(std::string_view name) const;
  double sequence_column(std::string_view name) const;

  std::int64_t predictions() const;  // number of targets that are not ignored
  double log_prob() const;           // sum of log_probs, nats

private:
  friend std::vector<MeasuredSequence> sequences_of(const LmBatch&, const TokenValues&,
                                                    const ValueRequest&);
  MeasuredSequence() = default;

  const LmBatch* batch_ = nullptr;
  std::size_t index_ = 0;  // index of the sequence in the batch
  std::size_t begin_ = 0;  // index of the sequence's first token in the batch
};

/// Returns each sequence of a batch with its values, in the order of the batch. `request` is the
/// request for which `values` were computed. `batch` and `values` have to outlive the result.
/// Errors: ShapeError when the lengths of the values do not fit the batch.
std::vector<MeasuredSequence> sequences_of(const LmBatch& batch, const TokenValues& values,
                                           const ValueRequest& request);

}  // namespace mgpu::lm
