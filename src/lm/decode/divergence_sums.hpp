#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include <ATen/core/Tensor.h>

// Sums for the divergence KL(model || reference) of two models. Shapes in this header: n = tokens
// of sequences, B = entries in a block of the vocabulary.
namespace mgpu::lm {

/// The sums of one token of a sequence, over the blocks of the vocabulary that were added so far.
/// All members are computed from logits that are divided by the temperature.
struct DivergenceSums {
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  double top = kNone;            // largest logit of the model
  double sum = 0.0;              // sum of exp(logit - top)
  double gap = 0.0;              // sum of exp(logit - top) * (logit - reference logit)
  double reference_top = kNone;  // largest logit of the reference
  double reference_sum = 0.0;    // sum of exp(logit of the reference - reference_top)

  /// Updates the sums with one block of logits of both models. The function first divides the
  /// logits by `temperature`.
  void add(std::span<const float> of_model, std::span<const float> of_reference,
           double temperature);

  /// Adds the sums of the same token over other blocks of the vocabulary, with the same
  /// temperature.
  void add(const DivergenceSums& other);

  /// Returns KL(model || reference) in nats, which is never negative. A logit of -infinity counts
  /// as probability 0. If a logit was NaN or +infinity, the result is NaN or infinity.
  double divergence() const;

private:
  void rebase(double new_top, double new_reference_top);
};

inline constexpr std::int64_t kDivergenceSums = 5;  // number of values in a DivergenceSums
static_assert(sizeof(DivergenceSums) == kDivergenceSums * sizeof(double));

/// Adds a block of logits in host memory to the sums of n tokens, row by row, as
/// DivergenceSums::add() does.
/// Shapes: of_model, of_reference [n, B] float32
void add_by_rows(const at::Tensor& of_model, const at::Tensor& of_reference, double temperature,
                 std::span<DivergenceSums> rows);

/// Does the same as add_by_rows(), but computes with float64 tensors on the device of the logits.
/// The sums may be rounded differently.
void add_by_tensors(const at::Tensor& of_model, const at::Tensor& of_reference, double temperature,
                    std::span<DivergenceSums> rows);

}  // namespace mgpu::lm
