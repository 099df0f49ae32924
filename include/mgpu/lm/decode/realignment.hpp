#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/lm/forward/language_model.hpp>

// Shapes in this header: N rows, D width, V vocabulary.
namespace mgpu::lm {

/// Maps hidden states after the last norm to input embeddings, so that a state can be the next
/// input of the model. The map is the matrix A that minimizes |W_out A - W_in|^2 + ridge |A|^2.
/// W_out [V, D] is the matrix of the vocabulary head, and W_in [V, D] is the embedding matrix. Each
/// result is scaled to the mean norm of the rows of W_in.
/// Source: LatentMAS, arXiv 2511.20639, 3.1.
class Realignment {
public:
  static constexpr double kRidge = 1e-5;

  /// Computes A for a model: solves the normal equations in float64 by a Cholesky decomposition. If
  /// `is_on` is false, A is the identity, and only the scaling remains. The sums over the rows of
  /// W_out and W_in are computed in blocks of rows. With tensor parallelism, each rank sums its own
  /// rows.
  ///
  /// Memory: two matrices [D, D] of float64 and a block of rows on the model's device; if `is_on`
  ///         is true, also several matrices [D, D] of float64 in host memory.
  /// Ranks:  collective over the ranks of the model; all ranks get the same bits. In a pipeline,
  ///         the bits are the same as for a model on one rank.
  /// Errors: Failure E704 (exit 79) if A is not finite, or the decomposition fails.
  static Realignment solve(const LanguageModel& model, bool is_on = true);

  /// Returns the embeddings of hidden states. On the CPU, the bits of a row do not depend on the
  /// other rows.
  /// Shapes: hidden [N, D] float32 on the model's device; returns a tensor of the same shape, type
  ///         and device
  at::Tensor embeddings(const at::Tensor& hidden) const;

  const at::Tensor& matrix() const { return matrix_; }  // A, [D, D] float32 in host memory
  double mean_norm() const { return mean_norm_; }       // mean norm of the rows of W_in

private:
  Realignment(at::Tensor matrix, double mean_norm, bool is_on, const at::TensorOptions& options);

  at::Tensor matrix_;
  double mean_norm_;
  Linear linear_{};  // its matrix is the transpose of A, packed on the CPU; undefined: A is the
                     // identity
};

}  // namespace mgpu::lm
