#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

// Shapes in this header: N = predictions, A = classes (actions).
namespace mgpu::kernels {

/// A target with this value is ignored. The prediction adds nothing to the loss or to the counts,
/// and its row of the gradient is 0.
inline constexpr std::int64_t kIgnoreTarget = -100;

/// Sums over the predictions whose target is not kIgnoreTarget. Adding the sums of the parts of a
/// batch gives the sums of the whole batch.
struct CrossEntropySums {
  double loss = 0.0;       // sum of the losses, in nats
  std::int64_t count = 0;  // predictions that are not ignored
  /// Number of predictions whose target has the largest logit. If several classes have the largest
  /// logit, the class with the lowest index counts as the predicted one.
  std::int64_t correct = 0;
};

/// Number of predictions whose losses form one partial sum. The partial sums are added in a fixed
/// order.
inline constexpr std::size_t kCrossEntropyBlock = 256;

struct CrossEntropyArgs {
  const float* logits;           // [N, A]
  const std::int64_t* targets;   // [N] in [0, A), or kIgnoreTarget
  float* grad;                   // [N, A] gradient of grad_scale * loss; nullptr: not computed
  CrossEntropySums* block_sums;  // [ceil(N / kCrossEntropyBlock)] scratch
  CrossEntropySums* out;         // [1]
  std::size_t predictions;       // N
  std::size_t classes;           // A
  float label_smoothing;         // s: the target distribution is (1 - s) one-hot + s / A
  float grad_scale;  // usually the loss scale / number of predictions of the global batch
};

/// Computes the loss of each prediction and its gradient in one pass. The loss is -sum_a q_a log
/// softmax(logits)_a, where q is the target distribution with label smoothing. Writes the sums over
/// all predictions to `out`.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Units:  nats. A target outside [0, A), other than kIgnoreTarget, gives NaN in the loss and in
///         its row of the gradient.
/// Errors: ShapeError when A = 0 and N > 0; cuda also LibraryError, and NotBuiltError in a build
///         without CUDA. cuda returns before the work is done.
/// Source: log-sum-exp with the row maximum subtracted; smoothing: Szegedy et al., CVPR 2016.
namespace cpu {
void cross_entropy(const CrossEntropyArgs& args);
}
namespace cuda {
void cross_entropy(const CrossEntropyArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
