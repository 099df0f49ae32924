#include <mgpu/kernels/accumulate.hpp>

namespace mgpu::kernels::cpu {

void accumulate(const AccumulateArgs& args) {
  for (std::size_t i = 0; i < args.count; ++i)
    args.sum[i] += args.x[i];
}

}  // namespace mgpu::kernels::cpu
