#pragma once

#include <cstdint>

namespace mgpu::train {

/// Scales the loss for fp16. The scale lifts gradients that are too small for 16 bits, and is
/// halved when gradients overflow. For other types the scale is always 1.
///
/// Ranks:  all ranks pass the same is_finite, that of the reduced gradient, so all keep the same
///         scale.
/// Source: Micikevicius et al., ICLR 2018, section 3.2; numbers as in PyTorch's GradScaler.
class LossScaler {
public:
  struct State {
    double scale = 1.0;
    std::int64_t good_updates = 0;  // since the scale last changed
  };

  explicit LossScaler(bool is_dynamic);

  /// Returns whether a smaller scale may make an infinite gradient finite.
  bool can_shrink() const { return is_dynamic_ && state_.scale > 1.0; }
  double scale() const { return state_.scale; }

  /// Updates the scale after an optimizer step, given whether its gradients were finite.
  void update(bool is_finite);

  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

private:
  bool is_dynamic_;
  State state_;
};

}  // namespace mgpu::train
