#pragma once

#include <cstddef>
#include <cstdint>

// Shapes in this header: N = rows, A = classes (actions).
namespace mgpu::kernels {

/// The result for a row whose logits give no distribution: a logit is NaN or +infinity, or all
/// logits are -infinity.
inline constexpr std::int64_t kNoAction = -1;

struct SampleActionArgs {
  const float* logits;    // [N, A]; -infinity means probability 0
  const float* uniforms;  // [N] in [0, 1)
  std::int64_t* actions;  // [N] written
  std::size_t rows;       // N
  std::size_t classes;    // A
};

/// Samples one class of each row from softmax(logits): the first class whose cumulative probability
/// exceeds the uniform number of the row. A class of probability 0 is never sampled. Classes with
/// equal logits are equally likely.
///
/// The function exists only for the CPU, because the environments that need the actions run there.
///
/// Errors: ShapeError when A = 0 and N > 0.
/// Source: inverse transform sampling; sums in double.
namespace cpu {
void sample_action(const SampleActionArgs& args);
}

}  // namespace mgpu::kernels
