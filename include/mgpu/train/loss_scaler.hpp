#pragma once

#include <cstdint>

namespace mgpu::train {

/// Scale of the loss for fp16: gradients too small for 16 bits are lifted, and a scale that
/// overflows is halved. For other types the scale stays 1.
///
/// Ranks: all ranks feed the same outcomes (the reduced gradient's), so all keep the same scale.
/// Source: Micikevicius et al., ICLR 2018, section 3.2; numbers as in PyTorch's GradScaler.
class LossScaler {
public:
  struct State {
    double scale = 1.0;
    std::int64_t good_updates = 0;  // since the scale last changed
  };

  explicit LossScaler(bool is_dynamic);

  /// Whether a smaller scale may make a gradient finite that is not.
  bool can_shrink() const { return is_dynamic_ && state_.scale > 1.0; }
  double scale() const { return state_.scale; }

  /// After each optimizer step: whether its gradients were finite.
  void update(bool is_finite);

  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

private:
  bool is_dynamic_;
  State state_;
};

}  // namespace mgpu::train
