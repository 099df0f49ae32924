#include <algorithm>

#include <mgpu/train/loss_scaler.hpp>

namespace mgpu::train {
namespace {

constexpr double kFirstScale = 65536.0;
constexpr double kLargestScale = 16777216.0;
constexpr std::int64_t kGrowthInterval = 2000;  // consecutive finite updates

}  // namespace

LossScaler::LossScaler(bool is_dynamic) : is_dynamic_(is_dynamic) {
  if (is_dynamic_) state_.scale = kFirstScale;
}

void LossScaler::update(bool is_finite) {
  if (!is_dynamic_) return;
  if (!is_finite) {
    state_ = {std::max(state_.scale / 2.0, 1.0), 0};
  } else if (++state_.good_updates == kGrowthInterval) {
    state_ = {std::min(state_.scale * 2.0, kLargestScale), 0};
  }
}

}  // namespace mgpu::train
