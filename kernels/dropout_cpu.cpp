#include <cmath>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/dropout.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dropout_cpu.cpp"
#include <hwy/foreach_target.h>

#include "philox-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {

/// Processes one line of one row in dropout runs (kDropoutRun, 128 elements). The dropout factors
/// of a run stay in the L1 cache.
void dropout_line(const DropoutArgs& args, std::size_t row, std::size_t line) {
  const hn::ScalableTag<float> d;
  const std::size_t offset = (row * args.lines + line) * args.elements;
  const float* x = args.x + offset;
  const float* residual = args.residual == nullptr ? nullptr : args.residual + offset;
  float* out = args.out + offset;
  const auto sample = static_cast<std::uint64_t>(args.samples[row]);
  const std::size_t first_run = line * args.pitch / kDropoutRun;
  HWY_ALIGN float factors[kDropoutRun];
  for (std::size_t begin = 0; begin < args.elements; begin += kDropoutRun) {
    dropout_factors(args.site, sample, first_run + begin / kDropoutRun, factors);
    const std::size_t count = HWY_MIN(kDropoutRun, args.elements - begin);
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
      const auto factor = hn::Load(d, factors + i);
      const auto is_zero = hn::Eq(factor, hn::Zero(d));
      const auto value = hn::Mul(hn::LoadU(d, x + begin + i), factor);
      const auto masked = hn::IfThenZeroElse(is_zero, value);
      const auto sum =
          residual == nullptr ? masked : hn::Add(hn::LoadU(d, residual + begin + i), masked);
      hn::StoreU(sum, d, out + begin + i);
    }
    for (; i < count; ++i) {
      const float masked = factors[i] == 0.0F ? 0.0F : x[begin + i] * factors[i];
      out[begin + i] = residual == nullptr ? masked : residual[begin + i] + masked;
    }
  }
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels {

std::uint32_t dropout_threshold(double probability) {
  if (!(probability >= 0.0 && probability < 1.0)) throw Error("dropout is not in [0, 1)");
  return static_cast<std::uint32_t>(std::min(std::lround(probability * 65536.0), 65535L));
}

namespace cpu {

HWY_EXPORT(dropout_line);

void dropout(const DropoutArgs& args) {
  if (args.pitch % kDropoutRun != 0) throw ShapeError("dropout: the pitch is not whole runs");
  for (std::size_t row = 0; row < args.rows; ++row)
    for (std::size_t line = 0; line < args.lines; ++line)
      HWY_DYNAMIC_DISPATCH(dropout_line)(args, row, line);
}

}  // namespace cpu
}  // namespace mgpu::kernels
#endif
