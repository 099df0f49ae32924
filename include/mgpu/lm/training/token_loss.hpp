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

/// Tokens whose hidden states ModelHead sees.
enum class HeadRows : std::uint8_t {
  none,
  learned,  // those that have a target, in their order
  last,     // the last one of each sequence
};

/// The sums of some rows and their logits. With a scale the logits become the gradient of
/// scale * loss with respect to them.
using BlockLoss = std::function<LmSums(grad::HeadBlock& block, std::optional<double> scale)>;

/// The same for `outputs` [rows, outputs] of ModelHead.
using HeadLoss = std::function<LmSums(at::Tensor& outputs, std::optional<double> scale)>;

/// A loss of one batch.
struct PassLoss {
  BlockLoss of_logits{};  // empty: logits are not computed
  HeadLoss of_head{};     // empty: ModelHead is not used
  HeadRows head_rows = HeadRows::none;
  LmSums sums{};  // known already, beside those of the functions
};

/// What training minimizes: a sum over the tokens or the sequences of a batch. Losses of whole
/// sequences and their groups derive from SequenceLoss. Logits come in blocks: [N, vocabulary]
/// never exists.
class TokenLoss {
public:
  TokenLoss() = default;
  TokenLoss(const TokenLoss&) = delete;
  TokenLoss& operator=(const TokenLoss&) = delete;
  TokenLoss(TokenLoss&&) = delete;
  TokenLoss& operator=(TokenLoss&&) = delete;
  virtual ~TokenLoss() = default;

  /// Errors: ShapeError when the batch lacks what the loss needs, or it does not fit the model.
  virtual void check(const LmBatch& /*batch*/, const LmConfig& /*model*/) const {}

  /// The loss of a batch that check() accepts; batch and loss outlive what it returns.
  virtual PassLoss bind(const LmBatch& batch) const = 0;

  /// Phase of the clock that bind() counts for; empty: that of the model's own pass.
  virtual std::string_view phase() const { return {}; }

  /// The loss itself where it needs two sweeps, else nullptr.
  virtual const SequenceLoss* in_two_sweeps() const { return nullptr; }
};

/// Cross-entropy of the targets, in nats.
class CrossEntropy final : public TokenLoss {
public:
  PassLoss bind(const LmBatch& batch) const override;
};

}  // namespace mgpu::lm
