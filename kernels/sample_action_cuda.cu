#include <mgpu/base/error.hpp>
#include <mgpu/kernels/sample_action.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128;

/// Returns the largest logit; NaN if any logit is NaN.
__device__ float row_top(const float* row, std::size_t classes) {
  float top = -INFINITY;
  for (std::size_t a = 0; a < classes; ++a) {
    if (isnan(row[a])) return row[a];
    top = fmaxf(top, row[a]);
  }
  return top;
}

/// One thread per row, because there are few classes.
__global__ void sample_action_kernel(SampleActionArgs args) {
  const std::size_t n = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (n >= args.rows) return;
  const float* row = args.logits + n * args.classes;
  const float top = row_top(row, args.classes);
  std::int64_t last = kNoAction;
  if (isfinite(top)) {
    double sum = 0.0;
    for (std::size_t a = 0; a < args.classes; ++a)
      sum += exp(static_cast<double>(row[a]) - top);
    const double aim = args.uniforms[n] * sum;
    double reached = 0.0;
    for (std::size_t a = 0; a < args.classes && reached <= aim; ++a) {
      const double weight = exp(static_cast<double>(row[a]) - top);
      if (weight > 0.0) last = static_cast<std::int64_t>(a);
      reached += weight;
    }
  }
  args.actions[n] = last;
}

}  // namespace

void sample_action(const SampleActionArgs& args, CUstream_st* stream) {
  if (args.rows == 0) return;
  if (args.classes == 0) throw ShapeError("sample_action: A = 0");
  const auto blocks = static_cast<unsigned>((args.rows + kThreads - 1) / kThreads);
  sample_action_kernel<<<blocks, kThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
