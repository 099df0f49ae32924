#pragma once

namespace mgpu::app {

/// Sets the number of threads that libtorch uses for one operation in this process.
void set_compute_threads(int threads);

}  // namespace mgpu::app
