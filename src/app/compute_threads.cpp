#include "compute_threads.hpp"

#include <ATen/Parallel.h>

namespace mgpu::app {

void set_compute_threads(int threads) {
  at::set_num_threads(threads);
}

}  // namespace mgpu::app
