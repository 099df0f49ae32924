#include <algorithm>
#include <array>

#include <mgpu/kernels/squared_norm.hpp>

namespace mgpu::kernels::cpu {
namespace {

/// Returns the sum of the squares. The function keeps eight partial sums, so that the compiler can
/// use vector lanes. Partial sum i covers the elements whose index modulo 8 is i. The partial sums
/// are added in a fixed order.
double block_sum(const float* x, std::size_t count) {
  std::array<double, 8> lanes{};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane)
      lanes[lane] += static_cast<double>(x[i + lane]) * x[i + lane];
  for (; i < count; ++i)
    lanes[i % 8] += static_cast<double>(x[i]) * x[i];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace

void squared_norm(const SquaredNormArgs& args) {
  double total = 0.0;
  for (std::size_t begin = 0; begin < args.count; begin += kNormBlock) {
    const double sum = block_sum(args.x + begin, std::min(kNormBlock, args.count - begin));
    args.block_sums[begin / kNormBlock] = sum;
    total += sum;
  }
  *args.out = total;
}

}  // namespace mgpu::kernels::cpu
