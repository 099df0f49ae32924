#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/training/lm_batch.hpp>

namespace mgpu::lm::grad {
struct HeadBlock;
}

namespace mgpu::lm {

class SequenceLoss;

/// Selects the hidden states to which ModelHead is applied.
enum class HeadRows : std::uint8_t {
  none,
  learned,  // the states of all tokens that have a target, in the order of the tokens
  reached,  // the states of the targets themselves, one token after each state of `learned`
  last,     // the state of the last token of each sequence
};

/// A function that computes a loss from a block of logits. It returns three sums over the rows of
/// the block, [3] float64 on the block's device:
/// - the loss, in nats
/// - the number of correct predictions
/// - the cross-entropy of the targets, in nats; 0 if the function does not compute it
///
/// If the function computes no sums, it returns an undefined tensor. If `scale` has a value, the
/// function also overwrites the block's logits with the gradient of scale * loss.
using BlockLoss = std::function<at::Tensor(grad::HeadBlock& block, std::optional<double> scale)>;

/// A function that computes a loss from `outputs`, the outputs of ModelHead, and returns the sums
/// of the loss over all rows. If `scale` has a value, the function also replaces `outputs` with the
/// gradient of scale * loss. The gradient may have any float type.
/// Shapes: outputs [rows, ModelHead::outputs]
using HeadLoss = std::function<LmSums(at::Tensor& outputs, std::optional<double> scale)>;

/// The functions that compute the loss of one batch, from logits and from outputs of ModelHead.
struct PassLoss {
  BlockLoss of_logits{};  // empty: logits are not computed
  HeadLoss of_head{};     // empty: ModelHead is not used
  HeadRows head_rows = HeadRows::none;
  LmSums sums{};  // known before the pass; the sums of of_logits and of_head are added to them
};

/// The loss that training minimizes: a sum over the tokens of a batch. Losses of whole sequences or
/// of groups derive from SequenceLoss. Logits are computed in blocks of rows, so the whole matrix
/// [tokens of the batch, vocabulary] is never in memory.
class TokenLoss {
public:
  TokenLoss() = default;
  TokenLoss(const TokenLoss&) = delete;
  TokenLoss& operator=(const TokenLoss&) = delete;
  TokenLoss(TokenLoss&&) = delete;
  TokenLoss& operator=(TokenLoss&&) = delete;
  virtual ~TokenLoss() = default;

  /// Checks a batch. Errors: ShapeError when the batch lacks data that the loss needs, or when
  /// batch or loss do not fit the model.
  virtual void check(const LmBatch& /*batch*/, const LmConfig& /*model*/) const {}

  /// Returns the functions that compute the loss of a batch that check() has accepted. Batch and
  /// loss have to outlive the result.
  virtual PassLoss bind(const LmBatch& batch) const = 0;

  /// Returns the name under which PhaseClock counts the time of bind(); empty if that time is
  /// negligible and not counted.
  virtual std::string_view phase() const { return {}; }

  /// Returns this loss as a SequenceLoss if training must make two sweeps over the batch for it,
  /// else nullptr.
  virtual const SequenceLoss* in_two_sweeps() const { return nullptr; }
};

/// Cross-entropy of the targets, in nats.
class CrossEntropy final : public TokenLoss {
public:
  PassLoss bind(const LmBatch& batch) const override;
};

}  // namespace mgpu::lm
