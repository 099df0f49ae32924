#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/sampler.hpp>

#include "changed_logits.hpp"
#include "online_logits.hpp"

// Shapes in this header: N = all rows, K = candidates.
namespace mgpu::lm {

/// The sums that the KL of a draw needs, over all logits. Logits and offsets are divided by the
/// temperature.
struct OffsetSums {
  OnlineLogits rest;      // for all tokens that are not candidates; keeps no best tokens
  at::Tensor candidates;  // [N, K] float32: their logits without offsets; -infinity if missing
  at::Tensor offsets;     // [N, K] float64

  OffsetSums(const at::Tensor& scaled_offsets, const at::TensorOptions& options);
};

/// Returns the KL of the distribution with offsets from the distribution without offsets, [N]
/// float64 in nats, on the device of the sums. The KL is never negative, exactly 0 for offsets of
/// 0, and NaN if a logit is not finite. On the CPU the bits of a row's result depend on that row
/// only.
at::Tensor divergence_of(const OffsetSums& sums);

/// Returns divergence_of() for sums in the memory of the CPU. It computes row by row.
at::Tensor divergence_by_rows(const OffsetSums& sums);

/// Returns the same as divergence_by_rows(), but computes with float64 tensors on the device of the
/// sums. Results may differ in their last bits.
at::Tensor divergence_by_tensors(const OffsetSums& sums);

/// Computes how far the candidates' offsets take a draw from the model: the KL of softmax((logits +
/// offsets) / temperature) from softmax(logits / temperature). The class needs no separate pass
/// over the vocabulary, because the draw calls fold() once for each piece of the logits. Repetition
/// penalty, block processors, top k and top p are left out of both distributions.
///
/// The tokens that are no candidates enter as one sum of exponentials. This sum never includes the
/// candidates, so it stays accurate where the candidates have almost all probability.
class OffsetDivergence {
public:
  /// Keeps a reference to `rows`, which must outlive this object. Without offsets it does nothing.
  OffsetDivergence(const SampledRows& rows, const SamplingConfig& config);

  /// Adds a piece of the model's unchanged logits.
  void fold(const LogitsPiece& raw);

  /// Returns the KL of each row, after the last piece; undefined without offsets.
  ///
  /// Shapes: returns [N] float64 on the device
  /// Ranks:  collective over the ranks of a tensor-parallel model
  at::Tensor result();

private:
  void combine_ranks();

  const SampledRows& rows_;
  double temperature_;
  std::optional<OffsetSums> sums_;  // empty without offsets
};

}  // namespace mgpu::lm
