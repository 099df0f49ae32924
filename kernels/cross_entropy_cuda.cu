#include <cub/block/block_reduce.cuh>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = kCrossEntropyBlock;
using Reduce = cub::BlockReduce<CrossEntropySums, kThreads>;

struct AddSums {
  __device__ CrossEntropySums operator()(const CrossEntropySums& a,
                                         const CrossEntropySums& b) const {
    return {a.loss + b.loss, a.count + b.count, a.correct + b.correct};
  }
};

/// Returns the sums for prediction n, and writes the gradients of its logits if args.grad is not
/// nullptr. `aim` is the target of the prediction. It must be in [0, args.classes).
__device__ CrossEntropySums one_prediction(const CrossEntropyArgs& args, std::size_t n,
                                           std::size_t aim) {
  const float* row = args.logits + n * args.classes;
  std::size_t top_class = 0;
  for (std::size_t a = 1; a < args.classes; ++a)
    if (row[a] > row[top_class]) top_class = a;
  const float top = row[top_class];
  double exp_sum = 0.0;
  double logit_sum = 0.0;
  for (std::size_t a = 0; a < args.classes; ++a) {
    exp_sum += expf(row[a] - top);
    logit_sum += row[a] - top;
  }
  const double share = static_cast<double>(args.label_smoothing) / args.classes;
  const double whole = 1.0 - static_cast<double>(args.label_smoothing);
  if (args.grad != nullptr) {
    for (std::size_t a = 0; a < args.classes; ++a) {
      const double p = expf(row[a] - top) / exp_sum;
      args.grad[n * args.classes + a] =
          args.grad_scale * static_cast<float>(p - share - (a == aim ? whole : 0.0));
    }
  }
  return {log(exp_sum) - whole * (row[aim] - top) - share * logit_sum, 1, top_class == aim ? 1 : 0};
}

/// Uses one thread per prediction, because there are few classes. Each block writes a partial sum.
__global__ void cross_entropy_kernel(CrossEntropyArgs args) {
  __shared__ typename Reduce::TempStorage scratch;
  const std::size_t n = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  CrossEntropySums sums;
  if (n < args.predictions) {
    const std::int64_t target = args.targets[n];
    const bool ignored = target == kIgnoreTarget;
    if (ignored || target < 0 || target >= static_cast<std::int64_t>(args.classes)) {
      if (!ignored) sums = {nan(""), 1, 0};
      for (std::size_t a = 0; args.grad != nullptr && a < args.classes; ++a)
        args.grad[n * args.classes + a] = ignored ? 0.0F : nanf("");
    } else {
      sums = one_prediction(args, n, static_cast<std::size_t>(target));
    }
  }
  sums = Reduce(scratch).Reduce(sums, AddSums{});
  if (threadIdx.x == 0) args.block_sums[blockIdx.x] = sums;
}

/// One block adds all partial sums. Each thread adds every 256th partial sum, in order.
__global__ void total_kernel(CrossEntropyArgs args, std::size_t blocks) {
  __shared__ typename Reduce::TempStorage scratch;
  CrossEntropySums sums;
  for (std::size_t b = threadIdx.x; b < blocks; b += kThreads)
    sums = AddSums{}(sums, args.block_sums[b]);
  sums = Reduce(scratch).Reduce(sums, AddSums{});
  if (threadIdx.x == 0) *args.out = sums;
}

}  // namespace

void cross_entropy(const CrossEntropyArgs& args, CUstream_st* stream) {
  if (args.predictions > 0 && args.classes == 0) throw ShapeError("cross_entropy: A = 0");
  const std::size_t blocks = (args.predictions + kThreads - 1) / kThreads;
  if (blocks > 0) {
    cross_entropy_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(args);
    check_launch();
  }
  total_kernel<<<1, kThreads, 0, stream>>>(args, blocks);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
