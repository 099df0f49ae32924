#include <mgpu/kernels/dropout.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128;  // eight dropout runs, with 16 threads per run

/// Applies dropout. The thread blocks with the same blockIdx.y process every gridDim.y-th line.
/// Each thread processes the eight elements of one Philox block at a time. The elements of a
/// Philox block are 16 apart, so 16 adjacent threads load adjacent elements.
__global__ void dropout_kernel(DropoutArgs args) {
  const float scale = args.site.scale();
  const std::size_t blocks = (args.elements + kDropoutRun - 1) / kDropoutRun * 16;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * kThreads;
  for (std::size_t p = blockIdx.y; p < args.rows * args.lines; p += gridDim.y) {
    const RandomStream stream(args.site.seed, kDropoutMasks, args.site.site,
                              static_cast<std::uint64_t>(args.samples[p / args.lines]));
    const std::size_t first = p % args.lines * args.pitch / 8;
    for (std::size_t b = blockIdx.x * std::size_t{kThreads} + threadIdx.x; b < blocks;
         b += stride) {
      const Philox4 words = stream.block(static_cast<std::uint32_t>(first + b));
      for (unsigned n = 0; n < 8; ++n) {
        const std::size_t element = b / 16 * kDropoutRun + 16 * n + b % 16;
        if (element >= args.elements) break;
        const std::size_t i = p * args.elements + element;
        const bool keep = ((words[n / 2] >> (n % 2 * 16)) & 0xFFFF) >= args.site.threshold;
        const float masked = keep ? args.x[i] * scale : 0.0F;
        args.out[i] = args.residual == nullptr ? masked : args.residual[i] + masked;
      }
    }
  }
}

}  // namespace

void dropout(const DropoutArgs& args, CUstream_st* stream) {
  if (args.pitch % kDropoutRun != 0) throw ShapeError("dropout: the pitch is not whole runs");
  if (args.rows * args.lines * args.elements == 0) return;
  const dim3 grid(blocks_for((args.elements + 7) / 8, kThreads),
                  blocks_for(args.rows * args.lines, 1));
  dropout_kernel<<<grid, kThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
