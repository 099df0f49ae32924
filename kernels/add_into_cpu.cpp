#include <mgpu/kernels/add_into.hpp>

namespace mgpu::kernels::cpu {

void add_into(const AddIntoArgs& args) {
  for (std::size_t i = 0; i < args.count; ++i)
    args.sum[i] += args.x[i];
}

}  // namespace mgpu::kernels::cpu
