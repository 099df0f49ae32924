// Measures the peak speed of a core, as the base of relative figures.
#pragma once

namespace mgpu::bench {

/// Measures float32 multiply-adds in registers on one core, with the widest vectors that the
/// kernels use. Returns FLOP per CPU-second, the best of a few trials of about 50 ms.
double peak_flops();

}  // namespace mgpu::bench
