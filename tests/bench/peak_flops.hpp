// What a core can do at most, for shares of it.
#pragma once

namespace mgpu::bench {

/// Multiply-adds of float32 in registers on one core, with the widest vectors that the kernels use:
/// FLOP per CPU-second, the best of a few trials of some 50 ms.
double peak_flops();

}  // namespace mgpu::bench
