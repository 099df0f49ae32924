#pragma once

#include <cstddef>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

namespace mgpu::kernels {

struct AdamwArgs {
  float* weights;      // [count] updated
  const float* grads;  // [count]
  float* m;            // [count] first moment, updated
  float* v;            // [count] second moment, updated
  std::size_t count;
  float learning_rate;
  float beta1;
  float beta2;
  float epsilon;
  float weight_decay;  // cpu: 0 for weights without decay; cuda: see AdamwRuns
  float grad_scale;    // factor of each gradient: clipping, mean over the batch and loss scale
  float correction1;   // 1 - beta1^t, t = number of updates including this one
  float correction2;   // 1 - beta2^t
};

inline constexpr std::size_t kMaxAdamwRuns = 128;

/// Specifies which weights have weight decay. A run is a range of adjacent weights, either all with
/// or all without weight decay. Runs with and without decay alternate.
struct AdamwRuns {
  std::size_t count;                // 1 to kMaxAdamwRuns
  bool first_decays;                // true: the first run has weight decay
  std::size_t ends[kMaxAdamwRuns];  // ends[r]: index of the first weight after run r
};

/// Applies one AdamW update to `count` adjacent weights w. With g = grad_scale * grads: m = beta1 m
/// + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, w = w (1 - learning_rate * weight_decay) -
/// learning_rate (m / correction1) / (sqrt(v / correction2) + epsilon).
///
/// cuda::adamw_step() takes several runs (AdamwRuns), so that one launch can update all parameters
/// of a model. In runs without decay, cuda::adamw_step() replaces weight_decay by 0.
/// cpu::adamw_step() applies weight_decay to all weights of a call.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: cuda throws LibraryError when the launch fails, and NotBuiltError in a build without
///         CUDA. cuda returns before the work is done.
/// Source: Loshchilov and Hutter, ICLR 2019, algorithm 2.
namespace cpu {
void adamw_step(const AdamwArgs& args);
}
namespace cuda {
void adamw_step(const AdamwArgs& args, const AdamwRuns& runs, CUstream_st* stream);
}

}  // namespace mgpu::kernels
