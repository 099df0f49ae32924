#include <mgpu/lm/forward/pass_sizes.hpp>

#include "lm/decode/online_logits.hpp"

namespace mgpu::lm {
namespace {

constexpr PassSizes kCpuSizes{256, kHeadRows, kVocabularyBlock, 1};
constexpr PassSizes kGpuSizes{4096, 4096, 8 * kVocabularyBlock, 8};

}  // namespace

PassSizes pass_sizes(DeviceKind device) {
  return device == DeviceKind::cuda ? kGpuSizes : kCpuSizes;
}

}  // namespace mgpu::lm
