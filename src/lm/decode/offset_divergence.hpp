#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/sampler.hpp>

#include "changed_logits.hpp"
#include "online_logits.hpp"

// Shapes in this header: N = rows of a draw, K = candidates.
namespace mgpu::lm {

/// The numbers from which divergence_of() computes the KL divergence between the distributions with
/// and without offsets, for each row of a draw. The offsets are added to the logits of K candidate
/// tokens. Logits and offsets are divided by the temperature.
struct OffsetSums {
  OnlineLogits rest;      // sums over all tokens that are not candidates; best_ids is empty
  at::Tensor candidates;  // [N, K] float32: logits without offsets; -infinity: not seen yet
  at::Tensor offsets;     // [N, K] float64

  OffsetSums(const at::Tensor& scaled_offsets, const at::TensorOptions& options);
};

/// Returns KL(p || q), [N] float64 in nats, on the device of the sums. p is the distribution with
/// offsets, q the one without. The result is never negative, exactly 0 for offsets of 0, and NaN if
/// a logit is NaN or +infinity. On the CPU the bits of a row's result depend on that row only.
at::Tensor divergence_of(const OffsetSums& sums);

/// Computes divergence_of() for sums in host memory, row by row.
at::Tensor divergence_by_rows(const OffsetSums& sums);

/// Returns the same as divergence_by_rows(), but computes with float64 tensors on the device of the
/// sums. Results may differ in their last bits.
at::Tensor divergence_by_tensors(const OffsetSums& sums);

/// Computes KL(p || q) for each row of a draw. Here p = softmax((logits + offsets) / temperature)
/// and q = softmax(logits / temperature). Both ignore the repetition penalty, block processors, and
/// truncation (top k, top p). The class needs no separate pass over the vocabulary, because the
/// draw calls fold() once for each piece of the logits.
///
/// The tokens that are not candidates contribute one sum of exponentials. This sum is computed
/// without the candidates, so it is accurate even if the candidates have almost all probability.
class OffsetDivergence {
public:
  /// Keeps a reference to `rows`, which must outlive this object. Without offsets, this object does
  /// nothing.
  OffsetDivergence(const SampledRows& rows, const SamplingConfig& config);

  /// Adds a piece of the model's unchanged logits.
  void fold(const LogitsPiece& raw);

  /// Returns KL(p || q) of each row, or an undefined tensor without offsets. Call this function
  /// after the last piece.
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
